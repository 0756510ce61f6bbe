/** Drafts as data: the proposal as rows for a page, and its wording. Pure. */

import type { Difference, DocumentChange, ExternalRequest, FieldChange, RowChange } from "../api/types/drafts.ts";

/** The effect of a draft, or of a tool's dry run. */
export interface Proposal {
	difference?: Difference | null;
	reference_doctype?: string | null;
	reference_name?: string | null;
}

interface ChangedTable {
	key: string;
	label: string;
	rows: { key: string; idx: number; action: string; fields: ReturnType<typeof readField>[] }[];
}

/**
 * A draft's difference -> {request, changes, tables, kept}
 *
 * request: {line, isUntried, parts: [{key, value}]} of a call that reaches outside, else null. changes: the document that it is about
 * first, each {key, action, doctype, label, name, title, isNew, hidden, fields: [{key, label, fieldtype, before, after, isProvisional, isMain}],
 * tables: [{key, label, rows: [{key, idx, action, fields}]}]}; name is null for a new document, or one the reader may not see.
 */
export function readDifference({ difference, reference_doctype: doctype, reference_name: name }: Proposal) {
	const { request = null, changes = [], tables = [], kept = {} } = difference || {};
	const isMain = (change: DocumentChange) => Boolean(name) && change.doctype === doctype && change.name === name;
	const sorted = [...changes.filter(isMain), ...changes.filter((change) => !isMain(change))];
	return { request: request && readRequest(request), changes: sorted.map(readChange), tables, kept };
}

function readRequest({ method, url, headers = {}, body, tool, arguments: given, note }: ExternalRequest) {
	const parts = Object.entries({ headers, body, arguments: given }).map(([key, value]) => ({ key, value }));
	const line = method ? `${method} ${url}` : tool || "";
	return { line, isUntried: Boolean(note), parts: parts.filter(({ value }) => !isNothing(value)) };
}

function isNothing(value: unknown): boolean {
	const isEmpty = typeof value === "object" && value !== null && !Object.keys(value).length;
	return value === null || value === undefined || value === "" || isEmpty;
}

function readChange(change: DocumentChange, at: number) {
	const isNew = change.action === "create";
	return {
		key: `${change.doctype} ${change.name ?? at}`,
		action: change.action,
		doctype: change.doctype,
		label: change.label || change.doctype,
		name: change.provisional ? null : change.name,
		title: change.title,
		isNew,
		hidden: change.hidden || 0,
		fields: change.fields.map(readField),
		tables: groupRows(change.rows || []),
	};
}

function readField({ fieldname, label, fieldtype, before, after, provisional, main }: FieldChange) {
	const marks = { isProvisional: Boolean(provisional), isMain: Boolean(main) };
	return { key: fieldname, label: label || fieldname, fieldtype, before, after, ...marks };
}

/** The keys of a call's arguments at all depths. */
export function listKeys(value: unknown): string[] {
	if (typeof value !== "object" || value === null) return [];
	const below = Object.values(value).flatMap(listKeys);
	return Array.isArray(value) ? below : [...Object.keys(value), ...below];
}

const MAX_FIELDS = 10;

/**
 * [fields that are shown at once, fields that are folded] of a new or deleted document or row with many fields: what the call sets
 * (`given`) and what lists show come first, what the document fills in is folded. Nothing of a changed document is folded.
 */
export function foldFields<Field extends { key: string; isMain: boolean }>(fields: Field[], kind: string, given: Set<string>) {
	const isFirst = ({ key, isMain }: Field) => isMain || given.has(key);
	if (kind === "change" || fields.length <= MAX_FIELDS || !fields.some(isFirst)) return [fields, []];
	return [fields.filter(isFirst), fields.filter((field) => !isFirst(field))];
}

/** The display name of a changed document: its title with its name, or the name alone; null if neither is known. */
export const calledOf = ({ title, name }: { title?: string; name: string | null }): string | null =>
	title && title !== name ? `${title} (${name})` : name;

function groupRows(rows: RowChange[]) {
	const tables = new Map<string, ChangedTable>();
	for (const { fieldname, label, row, idx, action, fields } of rows) {
		if (!tables.has(fieldname))
			tables.set(fieldname, { key: fieldname, label: label || fieldname, rows: [] });
		tables.get(fieldname)!.rows.push({ key: row, idx, action, fields: fields.map(readField) });
	}
	return [...tables.values()];
}

/** What a draft would do, as {key, ...values} of a text `proposal.<key>`. */
export function headlineOf(draft: Proposal & { tool?: string }): { key: string; [value: string]: unknown } {
	const { request, changes } = readDifference(draft);
	if (request) return { key: "request", line: request.line };
	const [main, ...others] = changes;
	if (!main) return { key: "tool", tool: draft.tool };
	const { action, doctype, label } = main;
	const name = calledOf(main);
	const alike = others.length > 0 && others.every((c) => c.action === action && c.doctype === doctype);
	if (alike) return { key: `${action}.many`, doctype: label, count: changes.length };
	return { key: name ? action : `${action}.new`, doctype: label, name };
}

/** The new values of the first fields on one line: "Priority: High, Note: …". `show` formats a value of a fieldtype. */
export function gistOf(draft: Proposal, show: (value: unknown, fieldtype?: string) => string = String, max = 120): string {
	const [main] = readDifference(draft).changes;
	const fields = (main?.fields || []).filter(({ after }) => !isNothing(after));
	const line = fields
		.map(({ label, after, fieldtype }) => `${label}: ${show(after, fieldtype)}`)
		.join(", ")
		.replace(/\s+/g, " ");
	return line.length > max ? `${line.slice(0, max - 1)}…` : line;
}

/** Drafts grouped by turn, in the order of their first ones: those of one turn are shown and answered together. */
export function groupByTurn<T extends { run: string; step: number }>(drafts: T[]): T[][] {
	const turns = new Map<string, T[]>();
	for (const draft of drafts) {
		const key = `${draft.run} ${draft.step}`;
		turns.set(key, [...(turns.get(key) || []), draft]);
	}
	return [...turns.values()];
}

/** Long values are stacked, short ones are on one line. */
export function isLong(value: unknown): boolean {
	return typeof value === "string" && (value.length > 60 || value.includes("\n"));
}
