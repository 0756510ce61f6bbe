/** Reads and shows numbers as people type them. Pure. */

const NUMBER = /^[+-]?(\d+([.,]\d*)?|[.,]\d+)(e[+-]?\d+)?$/i;
/** Where decimals have a comma, 1.500 is fifteen hundred. */
const GROUPED = /^[+-]?[1-9]\d{0,2}\.\d{3}$/;

export const hasComma = (locale: string) => new Intl.NumberFormat(locale).format(1.5).includes(",");

/** A number as readers of a language write it, or with a decimal point; null if there is none, undefined if it is no number. */
export function readNumber(value: unknown, locale: string): number | null | undefined {
	if (typeof value === "number") return Number.isFinite(value) ? value : undefined;
	const text = String(value ?? "").trim();
	if (text === "") return null;
	if (!NUMBER.test(text) || (hasComma(locale) ? GROUPED.test(text) : text.includes(","))) return undefined;
	return Number(text.replace(",", "."));
}

/** The text of a number as `readNumber` reads it back. */
export const showNumber = (text: string, locale: string) => (hasComma(locale) ? text.replace(".", ",") : text);
