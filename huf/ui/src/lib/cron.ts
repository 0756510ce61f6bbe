/** Describes common cron expressions in words; others are shown as they are. Pure. */

const NUMBER = /^\d{1,2}$/;

/** A text `cron.<key>` with its values. */
interface CronWords {
	key: string;
	minutes?: number;
	minute?: string;
	time?: string;
	/** 0 is Sunday. */
	days?: number[];
	day?: number;
}

/** null: not a common one. */
export function describeCron(expression: string | null | undefined): CronWords | null {
	const fields = (expression || "").trim().split(/\s+/);
	if (fields.length !== 5) return null;
	const [minute, hour, day, month, weekday] = fields;
	if (month !== "*") return null;
	const isEveryDay = day === "*" && weekday === "*";
	if (hour === "*" && isEveryDay) return describeMinutes(minute);
	if (!NUMBER.test(minute) || !NUMBER.test(hour)) return null;
	const time = `${hour.padStart(2, "0")}:${minute.padStart(2, "0")}`;
	if (isEveryDay) return { key: "daily", time };
	if (day === "*") return describeWeekdays(weekday, time);
	return NUMBER.test(day) && weekday === "*" ? { key: "monthly", day: Number(day), time } : null;
}

function describeMinutes(minute: string): CronWords | null {
	const every = /^\*\/(\d{1,2})$/.exec(minute);
	if (minute === "*") return { key: "minutes", minutes: 1 };
	if (every) return { key: "minutes", minutes: Number(every[1]) };
	return NUMBER.test(minute) ? { key: "hourly", minute: minute.padStart(2, "0") } : null;
}

function describeWeekdays(weekday: string, time: string): CronWords | null {
	if (weekday === "1-5") return { key: "weekdays", time };
	if (!/^[0-7](,[0-7])*$/.test(weekday)) return null;
	return { key: "weekly", days: weekday.split(",").map((day) => Number(day) % 7), time };
}

/** Names of weekdays, 0 is Sunday, as a list in the reader's language. */
export function nameWeekdays(days: number[], locale = "en"): string {
	const format = new Intl.DateTimeFormat(locale, { weekday: "long", timeZone: "UTC" });
	// The fourth of January 1970 was a Sunday.
	const names = days.map((day) => format.format(Date.UTC(1970, 0, 4 + day)));
	return new Intl.ListFormat(locale, { type: "conjunction" }).format(names);
}
