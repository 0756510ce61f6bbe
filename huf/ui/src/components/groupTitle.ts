/** The heading of a group of `groupByDay`: "Today", "Last 7 days", "March 2026". */
import { currentLocale, t } from "../i18n/index.ts";
import type { DayGroup } from "../lib/time.ts";

const NAMED = ["today", "yesterday", "week", "month"];

export function groupTitle({ key, date }: Pick<DayGroup<unknown>, "key" | "date">): string {
	if (NAMED.includes(key)) return t(`history.${key}`);
	return new Intl.DateTimeFormat(currentLocale(), { month: "long", year: "numeric" }).format(date);
}
