/** Parses JSON from outside. */

/** The value of a JSON text; undefined if it is not valid JSON. */
export function parseJson(text: unknown): any {
	// On Postgres a JSON field arrives as a value.
	if (text && typeof text === "object") return text;
	try {
		return JSON.parse(text as string);
	} catch {
		return undefined;
	}
}
