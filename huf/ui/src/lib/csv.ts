/** Rows as CSV for spreadsheets. */
import { hasComma, showNumber } from "./numbers.ts";

/** Text that a spreadsheet would take for a formula; a negative amount such as -1.234,50 € is none. */
const FORMULA = /^(?:[=+@\t\r]|-(?!\d[\d.,'\s]*[%€$£]?$))/;

/** Numbers stay numbers; text that begins like a formula gets an apostrophe in front. */
function toCell(value: string | number | null | undefined, locale: string, separator: string): string {
	// Without the last digits of a sum, which are those of binary fractions.
	if (typeof value === "number") return showNumber(String(Number(value.toPrecision(12))), locale);
	const text = FORMULA.test(value || "") ? `'${value}` : value || "";
	return text.includes(separator) || /["\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** Saves rows as a file of the browser's user. `name`: without the ending. */
export function downloadCsv(name: string, rows: Parameters<typeof toCsv>[0]): void {
	// With a byte order mark, by which spreadsheets recognize UTF-8.
	const url = URL.createObjectURL(new Blob(["\ufeff", toCsv(rows, document.documentElement.lang)], { type: "text/csv" }));
	Object.assign(document.createElement("a"), { href: url, download: `${name}.csv` }).click();
	setTimeout(() => URL.revokeObjectURL(url), 1000);
}

/** Where decimals have a comma, spreadsheets expect a semicolon between columns. */
export function toCsv(rows: (string | number | null | undefined)[][], locale = "en"): string {
	const separator = hasComma(locale) ? ";" : ",";
	return rows.map((row) => `${row.map((value) => toCell(value, locale, separator)).join(separator)}\r\n`).join("");
}
