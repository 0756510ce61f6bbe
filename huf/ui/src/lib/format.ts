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

export function initials(name: string | null | undefined): string {
	const words = String(name || "?")
		.trim()
		.split(/\s+/);
	return (words[0][0] + (words.length > 1 ? words.at(-1)![0] : "")).toUpperCase();
}
