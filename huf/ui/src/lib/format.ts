/** Formats durations, token counts and money. */

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

/** US dollars, the currency of model prices. Small sums keep two significant digits instead of becoming $0.00. */
export function formatCost(value: number, locale = "en") {
	const digits = value > 0 && value < 0.1 ? { maximumSignificantDigits: 2 } : { maximumFractionDigits: 2 };
	return new Intl.NumberFormat(locale, { style: "currency", currency: "USD", ...digits }).format(value);
}

const AMOUNTS = ["Currency", "Float", "Percent"];
/** As many decimals as the database stores, so that rounding hides no change. */
const MAX_DIGITS = 9;

/** A date, a time, an amount or a duration of a record in the reader's language; other values as they are. */
export function formatValue(value: unknown, fieldtype = "", locale = "en"): string {
	const text = String(value);
	if (fieldtype === "Date" && /^\d{4}-\d\d-\d\d$/.test(text)) return formatMoment(text, { dateStyle: "medium" }, locale);
	if (fieldtype === "Datetime" && /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/.test(text))
		return formatMoment(text, { dateStyle: "medium", timeStyle: "medium", hourCycle: "h23" }, locale);
	if (fieldtype === "Time") return text.replace(/^(\d{1,2})(:\d\d:\d\d)(\.\d+)?$/, (_, hour, rest) => hour.padStart(2, "0") + rest);
	if (typeof value !== "number") return text;
	if (fieldtype === "Duration" && Number.isInteger(value)) return formatSeconds(value);
	if (!AMOUNTS.includes(fieldtype)) return text;
	const minimumFractionDigits = fieldtype === "Currency" ? 2 : 0;
	const unit: Intl.NumberFormatOptions = fieldtype === "Percent" ? { style: "unit", unit: "percent" } : {};
	const digits = { minimumFractionDigits, maximumFractionDigits: MAX_DIGITS };
	return new Intl.NumberFormat(locale, { ...unit, ...digits }).format(value);
}

/** Keeps the wall-clock time, and shows an impossible date that an agent may have written, such as 30 February, unchanged. */
function formatMoment(text: string, style: Intl.DateTimeFormatOptions, locale: string): string {
	const iso = `${text.length > 10 ? text.replace(" ", "T") : `${text}T00:00:00`}.000Z`;
	const moment = new Date(iso);
	if (moment.toJSON() !== iso) return text;
	return new Intl.DateTimeFormat(locale, { ...style, timeZone: "UTC" }).format(moment);
}

/** All of a stored duration, unlike `formatDuration`: "1 d 2 h 30 min 5 s". */
function formatSeconds(seconds: number): string {
	const whole = Math.abs(seconds);
	const parts = [`${Math.floor(whole / 86400)} d`, `${Math.floor(whole / 3600) % 24} h`];
	const kept = [...parts, `${Math.floor(whole / 60) % 60} min`, `${whole % 60} s`].filter((part) => !part.startsWith("0 "));
	return (seconds < 0 ? "−" : "") + (kept.join(" ") || "0 s");
}

export function initials(name: string | null | undefined): string {
	const words = String(name || "?")
		.trim()
		.split(/\s+/);
	return (words[0][0] + (words.length > 1 ? words.at(-1)![0] : "")).toUpperCase();
}
