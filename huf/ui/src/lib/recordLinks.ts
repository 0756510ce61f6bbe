/** Adds links to the records that a run has named to the HTML of its answer. */
import type { NamedRecord } from "../api/types/runs.ts";

export type RecordsByText = Map<string, NamedRecord>;

const MAX_LINKED = 100;
/** Their text is not prose: links stay unchanged, code is copied. */
const LEFT_ALONE = "a, pre, button, math";

/** The texts that stand for a record: its name and its title; a title shared by two records stands for neither. */
export function byText(records: NamedRecord[]): RecordsByText {
	const found: RecordsByText = new Map();
	const twice = new Set<string>();
	for (const record of records) {
		if (!record.title) continue;
		if (found.has(record.title)) twice.add(record.title);
		found.set(record.title, record);
	}
	for (const title of twice) found.delete(title);
	for (const record of records) found.set(record.name, record);
	return found;
}

export const addressOf = ({ doctype, name }: NamedRecord): string =>
	`/huf/records/${encodeURIComponent(doctype)}/${encodeURIComponent(name)}`;

/** The HTML with the records' names as links; `html` has been sanitized. */
export function linkRecords(html: string, records: RecordsByText): string {
	const pattern = patternOf(records);
	if (!pattern || !pattern.test(html.replace(/&amp;/g, "&"))) return html;
	const template = document.createElement("template");
	template.innerHTML = html;
	const walker = document.createTreeWalker(template.content, NodeFilter.SHOW_TEXT);
	const nodes: Text[] = [];
	while (walker.nextNode()) nodes.push(walker.currentNode as Text);
	for (const node of nodes) {
		if (!node.parentElement?.closest(LEFT_ALONE)) linkText(node, new RegExp(pattern.source, "gu"), records);
	}
	return template.innerHTML;
}

function linkText(node: Text, pattern: RegExp, records: RecordsByText): void {
	const pieces: (string | Node)[] = [];
	let at = 0;
	for (const match of node.data.matchAll(pattern)) {
		pieces.push(node.data.slice(at, match.index), makeLink(match[0], records.get(match[0])!));
		at = match.index + match[0].length;
	}
	if (pieces.length) node.replaceWith(...pieces, node.data.slice(at));
}

function makeLink(text: string, record: NamedRecord): HTMLAnchorElement {
	const link = document.createElement("a");
	link.href = addressOf(record);
	link.dataset.record = record.name;
	link.dataset.doctype = record.doctype;
	link.textContent = text;
	return link;
}

/** Whole words only, longest first. */
export function patternOf(records: RecordsByText): RegExp | null {
	const texts = [...records.keys()].sort((a, b) => b.length - a.length).slice(0, MAX_LINKED);
	const escaped = texts.map((text) => text.replace(/[.*+?^${}()|[\]\\/]/g, "\\$&"));
	return escaped.length ? new RegExp(`(?<![\\p{L}\\p{N}_])(?:${escaped.join("|")})(?![\\p{L}\\p{N}_])`, "u") : null;
}
