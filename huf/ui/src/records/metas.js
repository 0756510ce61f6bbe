/** Metas of DocTypes, loaded once: they change only with the site itself. */
import { markRaw } from "vue";
import { fetchMeta } from "../api/records.ts";
import { currentLocale } from "../i18n/index.ts";
import { queryClient } from "../state/queries.ts";

export const metaQuery = (doctype) => ({
	queryKey: ["meta", doctype],
	queryFn: async ({ queryKey: [, name] }) => markRaw(await fetchMeta(name, currentLocale())),
	staleTime: Infinity,
});

export const readMeta = (doctype) => queryClient.fetchQuery(metaQuery(doctype));
