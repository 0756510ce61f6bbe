/** The metas of DocTypes, read once: they change only with the site itself. */
import { markRaw } from "vue";
import { fetchMeta } from "../api/records.js";
import { currentLocale } from "../i18n/index.js";

const known = new Map();

export function readMeta(doctype) {
	if (!known.has(doctype)) {
		const asked = fetchMeta(doctype, currentLocale()).then(markRaw);
		known.set(doctype, asked);
		asked.catch(() => known.delete(doctype));
	}
	return known.get(doctype);
}
