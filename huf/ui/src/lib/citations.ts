/** Passages cited by a tool's result: {number, title, position, link, source, text}. Pure. */
import type { Passage } from "../api/types/setup.ts";
import { parseJson } from "./json.ts";
import { type Part, type TextPart, type ToolPart } from "./turns.ts";

export interface Citation extends Passage {
	number: number;
	title: string;
	link: string;
}

const SAFE_LINK = /^(https?:\/\/|\/(private\/)?files\/)/i;
const NUMBERS = /\[(\d{1,4}(?:\s*,\s*\d{1,4})*)\](?!\()/g;

/** The passages of a tool call's part; of a truncated result, as many as its sources list. */
export function citationsOf(part: ToolPart): Citation[] {
	const result = part.cut ? null : parseJson(part.result);
	const list: Passage[] = part.sources || (result && typeof result === "object" && result.results) || [];
	return Array.isArray(list) ? list.filter((each) => each?.number && each.position).map(toCitation) : [];
}

/** With a safe link and a title. */
export function toCitation(each: Passage): Citation {
	const link = SAFE_LINK.test(each.link || "") ? each.link! : "";
	return { ...each, number: each.number!, link, title: each.title || each.name || each.url || "" };
}

/** The passages of a turn's calls whose numbers appear in its answer, in order. */
export function citedIn(parts: Part[]): Citation[] {
	const said = parts.filter((part): part is TextPart => part.type === "text").map((part) => part.text);
	const numbers = new Set(
		[...said.join("\n").matchAll(NUMBERS)].flatMap((match) => match[1].split(",").map(Number)),
	);
	if (!numbers.size) return [];
	const all = parts.filter((part): part is ToolPart => part.type === "tool").flatMap(citationsOf);
	const known = new Map(all.map((each) => [each.number, each]));
	return [...known.values()].filter((each) => numbers.has(each.number)).sort((a, b) => a.number - b.number);
}
