/** What a trigger waits for, in words. */
import { currentLocale, hasText, t } from "../i18n/index.ts";
import { nameWeekdays } from "../lib/cron.ts";
import { DOC_EVENTS, waitsFor } from "../lib/triggers.ts";
import type { Values } from "../api/types/records.ts";

export function describeWait(trigger: Values): string {
	const { key, words, ...values } = waitsFor(trigger);
	return words ? describeWords(words as Values) : t(`waits.${key}`, values);
}

export function describeWords({ key, days, minutes, ...values }: Values): string {
	const names = days && nameWeekdays(days, currentLocale());
	return t(`cron.${key}`, { ...values, count: minutes, days: names });
}

/** The event of an Agent Trigger Event: a document event, one of Huf's, or an app's own name. */
export function describeEvent(event: string): string {
	if (DOC_EVENTS.includes(event)) return t(`doc_event.${event}`);
	return hasText(`event.${event}`) ? t(`event.${event}`) : event;
}
