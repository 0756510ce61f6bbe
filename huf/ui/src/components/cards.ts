/** Summaries of records, kept for a minute. */
import type { MaybeRef } from "vue";
import { fetchCard } from "../api/records.ts";
import { currentLocale } from "../i18n/index.ts";

export const cardQuery = (doctype: MaybeRef<string>, name: MaybeRef<string>) => ({
	queryKey: ["records", "card", doctype, name, currentLocale()],
	queryFn: ({ queryKey: [, , type, record, locale] }: { queryKey: readonly unknown[] }) =>
		fetchCard(type as string, record as string, locale as string),
	staleTime: 60_000,
});
