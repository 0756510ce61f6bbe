/** Parses the site's times, formats them in the reader's zone, and groups conversations by day. */

const DAY = 24 * 3600 * 1000;

/** "2025-03-01 10:20:30.123" in the site's zone (an IANA name; without one, the reader's own) -> Date or null. */
export function parseSiteTime(text: string | null | undefined, zone: string | null = null): Date | null {
	const match = /^(\d{4})-(\d\d)-(\d\d)[ T](\d\d):(\d\d)(?::(\d\d))?/.exec(text || "");
	if (!match) return null;
	const [year, month, day, hour, minute, second] = match.slice(1).map((part) => Number(part || 0));
	if (!zone) return new Date(year, month - 1, day, hour, minute, second);
	const wall = Date.UTC(year, month - 1, day, hour, minute, second);
	const guess = wall - zoneOffset(wall, zone);
	// The first guess may be on the other side of a clock change; the offset there is the right one.
	return new Date(wall - zoneOffset(guess, zone));
}

const PARTS: Intl.DateTimeFormatOptions = {
	hourCycle: "h23",
	year: "numeric",
	month: "numeric",
	day: "numeric",
	hour: "numeric",
	minute: "numeric",
	second: "numeric",
};
/** By zone: creating a formatter takes a hundred times as long as using it, and lists have many times. */
const formats = new Map<string, Intl.DateTimeFormat>();

function zoneOffset(time: number, zone: string): number {
	const format = formats.get(zone) || new Intl.DateTimeFormat("en-US", { ...PARTS, timeZone: zone });
	formats.set(zone, format);
	const part = Object.fromEntries(format.formatToParts(time).map(({ type, value }) => [type, Number(value)]));
	return (
		Date.UTC(part.year, part.month - 1, part.day, part.hour, part.minute, part.second) - time + (time % 1000)
	);
}

function startOfDay(date: Date): Date {
	return new Date(date.getFullYear(), date.getMonth(), date.getDate());
}

/** -> "today" | "yesterday" | "week" | "month" | "YYYY-MM" */
function groupOf(date: Date, now: Date): string {
	const days = Math.round((startOfDay(now).getTime() - startOfDay(date).getTime()) / DAY);
	if (days <= 0) return "today";
	if (days === 1) return "yesterday";
	if (days <= 7) return "week";
	if (days <= 30) return "month";
	return `${date.getFullYear()}-${String(date.getMonth() + 1).padStart(2, "0")}`;
}

export interface DayGroup<Item> {
	key: string;
	date: Date;
	items: Item[];
}

/** Items newest first -> groups in the order given. */
export function groupByDay<Item extends { at: Date | null }>(items: Item[], now = new Date()): DayGroup<Item>[] {
	const groups = new Map<string, DayGroup<Item>>();
	for (const item of items) {
		const date = item.at || now;
		const key = groupOf(date, now);
		if (!groups.has(key)) groups.set(key, { key, date, items: [] });
		groups.get(key)!.items.push(item);
	}
	return [...groups.values()];
}
