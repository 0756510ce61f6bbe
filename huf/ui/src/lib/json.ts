/** JSON from outside. */

/** The value of a JSON text; undefined if it is not valid JSON. */
export function parseJson(text: unknown): any {
	try {
		return JSON.parse(text as string);
	} catch {
		return undefined;
	}
}
