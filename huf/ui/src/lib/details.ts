/** Errors as people read them. Pure. */
import { parseJson } from "./json.ts";

const MARK = "\nDetails: ";

/** The message of a tool's error, which its model reads as {"error": message}. */
export function toolMessage(error: string): string {
	const value = parseJson(error);
	return typeof value?.error === "string" ? value.error : error;
}

/** An error's readable part and a library's message, which pages fold. */
export function splitDetails(error: string | null | undefined): { text: string; details: string } {
	const [text = "", ...rest] = (error || "").split(MARK);
	return { text, details: rest.join(MARK) };
}
