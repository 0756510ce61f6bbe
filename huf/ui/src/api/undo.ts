/** Endpoints that undo runs; see huf/api/undo.py. */
import { callPost } from "./http.ts";
import type { Difference } from "./types/drafts.ts";

export type Decision = "keep" | "restore";

export interface UndoConflict {
	key: string;
	doctype: string;
	name: string;
	/** Of the field, or empty for the whole document. */
	path: string[];
	label: string;
	fields: Record<string, { label: string; fieldtype: string | null }>;
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

/** Runs by name, or all runs of an agent, a trigger or on a record since a time. */
export interface UndoScope {
	runs?: string[];
	agent?: string;
	trigger?: string;
	doctype?: string;
	name?: string;
	since?: string;
}

export const previewUndo = (scope: UndoScope, decisions: Record<string, Decision> = {}) =>
	callPost<UndoPreview>("huf.api.undo.preview", { ...scope, decisions });
export const applyUndo = (scope: UndoScope, digest: string, decisions: Record<string, Decision>) =>
	callPost<{ run: string }>("huf.api.undo.apply", { ...scope, digest, decisions });
