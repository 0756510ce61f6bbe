/** Metas of DocTypes, loaded once: they change only with the site itself. */
import { markRaw, type MaybeRef } from "vue";
import { fetchMeta } from "../api/records.ts";
import { currentLocale } from "../i18n/index.ts";
import { queryClient } from "../state/queries.ts";

export const metaQuery = (doctype: MaybeRef<string>) => ({
	queryKey: ["meta", doctype],
	queryFn: async ({ queryKey: [, name] }: { queryKey: readonly unknown[] }) => markRaw(await fetchMeta(name as string, currentLocale())),
	staleTime: Infinity,
});

export const readMeta = (doctype: string) => queryClient.fetchQuery(metaQuery(doctype));
