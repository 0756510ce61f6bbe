/** Formats points in time: short if they are near, always in the reader's zone. Pure. */
import { parseSiteTime } from "./time.ts";

const DAY = 24 * 3600 * 1000;

/** Milliseconds since 1970 of a site's time, with its fraction of a second; null if it is not a time. */
export function millisOf(text: string | null | undefined, zone: string | null = null): number | null {
	const date = parseSiteTime(text, zone);
	if (!date) return null;
	const fraction = /\.(\d{1,3})/.exec(text!);
	return date.getTime() + (fraction ? Number(fraction[1].padEnd(3, "0")) : 0);
}

function daysBetween(date: Date, now: Date): number {
	const [then, today] = [date, now].map((d) => Date.UTC(d.getFullYear(), d.getMonth(), d.getDate()));
	return Math.round((then - today) / DAY);
}

const TIME: Intl.DateTimeFormatOptions = { hour: "2-digit", minute: "2-digit", hourCycle: "h23" };

/** "14:02" today, "Yesterday 14:02", "Mon 23 Nov 09:00", with the year when it is another. */
export function formatMoment(date: Date, locale = "en", now = new Date()) {
	const time = new Intl.DateTimeFormat(locale, TIME);
	const days = daysBetween(date, now);
	if (days === 0) return time.format(date);
	return `${dayName(date, days, locale, now)} ${time.format(date)}`;
}

function dayName(date: Date, days: number, locale: string, now: Date): string {
	if (Math.abs(days) === 1) {
		const word = new Intl.RelativeTimeFormat(locale, { numeric: "auto" }).format(days, "day");
		return word[0].toLocaleUpperCase(locale) + word.slice(1);
	}
	const isThisYear = date.getFullYear() === now.getFullYear();
	const parts: Intl.DateTimeFormatOptions = { day: "numeric", month: "short", ...(isThisYear ? {} : { year: "numeric" }) };
	return new Intl.DateTimeFormat(
		locale,
		days > 0 && days < 8 ? { weekday: "short", ...parts } : parts,
	).format(date);
}

/** "14:02:37", for what happened within a run. */
export function formatSecond(date: Date, locale = "en") {
	return new Intl.DateTimeFormat(locale, { ...TIME, second: "2-digit" }).format(date);
}

/** The full time, with seconds and zone. */
export function formatExactly(date: Date, locale = "en") {
	return new Intl.DateTimeFormat(locale, { dateStyle: "full", timeStyle: "long" }).format(date);
}
