/** Reads numbers that people type. Pure. */

const NUMBER = /^[+-]?(\d+([.,]\d*)?|[.,]\d+)(e[+-]?\d+)?$/i;
/** Where decimals have a comma, 1.500 is fifteen hundred. */
const GROUPED = /^[+-]?[1-9]\d{0,2}\.\d{3}$/;

/** A number as readers of a language write it, or with a decimal point; null if there is none, undefined if it is no number. */
export function readNumber(value: unknown, locale: string): number | null | undefined {
	if (typeof value === "number") return Number.isFinite(value) ? value : undefined;
	const text = String(value ?? "").trim();
	if (text === "") return null;
	const hasComma = new Intl.NumberFormat(locale).format(1.5).includes(",");
	if (!NUMBER.test(text) || (hasComma ? GROUPED.test(text) : text.includes(","))) return undefined;
	return Number(text.replace(",", "."));
}
