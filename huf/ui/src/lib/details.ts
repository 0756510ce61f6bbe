/** Splits an error into its readable part and a library's message, which pages fold. Pure. */
const MARK = "\nDetails: ";

export function splitDetails(error: string | null | undefined): { text: string; details: string } {
	const [text = "", ...rest] = (error || "").split(MARK);
	return { text, details: rest.join(MARK) };
}
