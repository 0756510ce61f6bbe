/** The endpoints that undo runs; what they answer is described in huf/api/undo.py. */
import { callPost } from "./http.ts";
import type { Difference } from "./types.ts";

export type Decision = "keep" | "restore";

export interface UndoConflict {
	key: string;
	doctype: string;
	name: string;
	label: string;
	restored: unknown;
	current: unknown;
	changed_by: string | null;
	can_restore: boolean;
	decision: Decision;
}

export interface UndoPreview {
	digest: string;
	difference: Difference;
	conflicts: UndoConflict[];
	problems: { key: string; doctype: string; name: string; error: string }[];
	notes: { doctype: string; name: string; note: string | null; left: string[] }[];
	external: { call: string; tool: string; arguments: string; compensate: object | null }[];
	untraced: { call: string; tool: string }[];
	hidden: number;
}

export const previewUndo = (runs: string[], decisions: Record<string, Decision> = {}) =>
	callPost<UndoPreview>("huf.api.undo.preview", { runs, decisions });
export const applyUndo = (runs: string[], digest: string, decisions: Record<string, Decision>) =>
	callPost<{ run: string }>("huf.api.undo.apply", { runs, digest, decisions });
