/** Numbers for people: durations, tokens, money. */

export function formatDuration(ms: number | null | undefined, locale = "en") {
	if (ms === null || ms === undefined) return "";
	if (ms < 1000) return `${Math.round(ms)} ms`;
	const seconds = ms / 1000;
	if (seconds < 59.95) return `${new Intl.NumberFormat(locale, { maximumFractionDigits: 1 }).format(seconds)} s`;
	const whole = Math.round(seconds);
	const minutes = Math.floor(whole / 60);
	return minutes < 60 ? `${minutes} min ${whole % 60} s` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

export function formatNumber(value: number | null | undefined, locale = "en") {
	return new Intl.NumberFormat(locale).format(value || 0);
}

/** US dollars, as model prices are given. Small sums keep two significant digits instead of becoming $0.00. */
export function formatCost(value: number, locale = "en") {
	const digits = value > 0 && value < 0.1 ? { maximumSignificantDigits: 2 } : { maximumFractionDigits: 2 };
	return new Intl.NumberFormat(locale, { style: "currency", currency: "USD", ...digits }).format(value);
}

const AMOUNTS = ["Currency", "Float", "Percent"];
/** As many places as a database keeps: nothing that changes is hidden by rounding. */
const MAX_DIGITS = 9;

/** A date or an amount of a record in the reader's language; other values as they are. */
export function formatValue(value: unknown, fieldtype = "", locale = "en"): string {
	const text = String(value);
	if (fieldtype === "Date" && /^\d{4}-\d\d-\d\d$/.test(text))
		return new Intl.DateTimeFormat(locale, { dateStyle: "medium" }).format(new Date(`${text}T12:00`));
	if (AMOUNTS.includes(fieldtype) && typeof value === "number") {
		const minimumFractionDigits = fieldtype === "Currency" ? 2 : 0;
		return new Intl.NumberFormat(locale, { minimumFractionDigits, maximumFractionDigits: MAX_DIGITS }).format(value);
	}
	return text;
}

export function initials(name: string | null | undefined): string {
	const words = String(name || "?")
		.trim()
		.split(/\s+/);
	return (words[0][0] + (words.length > 1 ? words.at(-1)![0] : "")).toUpperCase();
}
