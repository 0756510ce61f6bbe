/**
 * Decides how a tool's arguments and results are shown: as text, a list of fields, a table or indented JSON. Pure; it
 * escapes only the highlighted JSON.
 */
import { parseJson } from "./json.ts";

const MAX_COLUMNS = 12;

type Entry = [name: string, value: unknown];

export type Shown =
	| { kind: "empty" }
	| { kind: "text"; text: string }
	| { kind: "fields"; entries: Entry[] }
	| { kind: "table"; columns: string[]; numeric: boolean[]; rows: unknown[][]; fields: Entry[] }
	| { kind: "json"; text: string; value: unknown };

/** How a tool's text is shown. */
export function describeText(text: unknown): Shown {
	if (text === null || text === undefined || text === "") return { kind: "empty" };
	if (typeof text !== "string") return describeValue(text);
	const value = parseJson(text);
	return value === undefined ? { kind: "text", text } : describeValue(value);
}

export function describeValue(value: unknown): Shown {
	if (value === null || value === undefined) return { kind: "empty" };
	if (!isContainer(value)) return { kind: "text", text: String(value) };
	if (Array.isArray(value)) return describeList(value) || asJson(value);
	const entries = Object.entries(value);
	if (!entries.length) return { kind: "empty" };
	return (
		describeListWithin(entries) ||
		(entries.every(([, v]) => isShowable(v)) ? asFields(entries) : asJson(value))
	);
}

function describeList(list: unknown[], fields: Entry[] = []): Shown | null {
	if (!list.length || !list.every(isPlainObject)) return null;
	const columns = [...new Set(list.flatMap((row) => Object.keys(row)))];
	if (!columns.length || columns.length > MAX_COLUMNS) return null;
	if (!list.every((row) => Object.values(row).every((cell) => !isContainer(cell)))) return null;
	const numeric = columns.map((c) => list.every((row) => row[c] === undefined || typeof row[c] === "number"));
	return { kind: "table", columns, numeric, rows: list.map((row) => columns.map((c) => row[c])), fields };
}

/** {"count": 2, "rows": [...]}: one list of rows beside plain fields is still a table. */
function describeListWithin(entries: Entry[]): Shown | null {
	const lists = entries.filter(([, value]) => isContainer(value));
	if (lists.length !== 1 || !Array.isArray(lists[0][1])) return null;
	return describeList(
		lists[0][1],
		entries.filter(([, value]) => !isContainer(value)),
	);
}

function asFields(entries: Entry[]): Shown {
	return { kind: "fields", entries };
}

function asJson(value: unknown): Shown {
	return { kind: "json", text: JSON.stringify(value, null, 2), value };
}

function isContainer(value: unknown): value is object {
	return value !== null && typeof value === "object";
}

function isPlainObject(value: unknown): value is Record<string, unknown> {
	return isContainer(value) && !Array.isArray(value);
}

/** A field may hold a plain value or a short nested one, which is shown on one line. */
function isShowable(value: unknown): boolean {
	return !isContainer(value) || JSON.stringify(value).length <= 160;
}

export function showCell(value: unknown): string {
	if (value === null || value === undefined || value === "") return "–";
	return isContainer(value) ? JSON.stringify(value) : String(value);
}

/** The text to copy: indented if it is JSON, else unchanged. */
export function copyable(value: unknown): string {
	const parsed = typeof value === "string" ? parseJson(value) : value;
	if (isContainer(parsed)) return JSON.stringify(parsed, null, 2);
	return value === null || value === undefined ? "" : String(value);
}

/** One short line for a folded card, e.g. `doctype: User, limit: 5`. */
export function summarize(value: unknown, max = 120) {
	const entries = isPlainObject(value) ? Object.entries(value) : [];
	const parts = entries.map(([name, v]) => `${name}: ${showCell(v)}`);
	const line = (parts.length ? parts.join(", ") : isContainer(value) ? "" : String(value ?? "")).replace(
		/\s+/g,
		" ",
	);
	return line.length > max ? `${line.slice(0, max - 1)}…` : line;
}

const JSON_TOKEN = /("(?:[^"\\]|\\.)*")(\s*:)?|\b(true|false|null)\b|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;

/** Indented JSON -> escaped HTML with spans json-key, json-string, json-word, json-number. */
export function colorJson(text: string): string {
	let html = "";
	let at = 0;
	for (const match of text.matchAll(JSON_TOKEN)) {
		const [whole, string, colon, word] = match;
		html += escapeHtml(text.slice(at, match.index));
		if (string) html += span(colon ? "json-key" : "json-string", string) + (colon || "");
		else html += span(word ? "json-word" : "json-number", whole);
		at = match.index + whole.length;
	}
	return html + escapeHtml(text.slice(at));
}

function span(name: string, text: string): string {
	return `<span class="${name}">${escapeHtml(text)}</span>`;
}

const ESCAPES: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" };

export function escapeHtml(text: unknown): string {
	return String(text).replace(/[&<>"']/g, (c) => ESCAPES[c]);
}
