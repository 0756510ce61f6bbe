/** Splits an error into the words for people and those of a library, which pages fold away. Pure. */
const MARK = "\nDetails: ";

export function splitDetails(error: string | null | undefined): { text: string; details: string } {
	const [text = "", ...rest] = (error || "").split(MARK);
	return { text, details: rest.join(MARK) };
}
