/** Rows as CSV for spreadsheets. */

/** Beginnings that a spreadsheet takes for a formula. */
const FORMULA = /^[=+\-@\t\r]/;

/** Numbers stay numbers; text that begins like a formula gets an apostrophe in front. */
function toCell(value: string | number | null | undefined): string {
	// Without the last digits of a sum, which are those of binary fractions.
	if (typeof value === "number") return String(Number(value.toPrecision(12)));
	const text = FORMULA.test(value || "") ? `'${value}` : value || "";
	return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

export function toCsv(rows: (string | number | null | undefined)[][]): string {
	return rows.map((row) => `${row.map(toCell).join(",")}\r\n`).join("");
}
