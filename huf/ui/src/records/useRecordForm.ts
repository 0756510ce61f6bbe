/** The form of any DocType, built from its meta and loaded from the site. */
import { computed, markRaw, reactive } from "vue";
import type { ApiError } from "../api/errors.ts";
import { fetchRecord } from "../api/records.ts";
import type { Attachment } from "../api/types/conversations.ts";
import type { Meta, Values } from "../api/types/records.ts";
import { currentLocale } from "../i18n/index.ts";
import { missingOf, restoreValues, toBody, toValues, unreadableOf, withoutSecrets } from "../lib/meta.ts";
import { readMeta } from "./metas.ts";
import { blankForm, useForm } from "./useForm.ts";

const NOTHING: Meta = markRaw({ name: "", label: "", fields: [], tables: {}, can: {} });

export type RecordEditor = ReturnType<typeof useRecordForm>;

export function useRecordForm(doctype: string) {
	const form = reactive({
		...blankForm(doctype),
		meta: NOTHING,
		files: [] as Attachment[],
		/** Where its outside content came from, as agents see it. */
		untrusted: null as string | null,
		/** The form holds the record that was opened last, not the one before. */
		isReady: false,
		loadError: null as ApiError | null,
	});
	const editor = useForm(form, {
		toValues: (doc) => toValues(form.meta, doc),
		toBody: (values, saved) => ({
			...toBody(form.meta, values, saved, currentLocale()),
			...(!saved && form.meta.is_named && { name: values.name }),
		}),
		missing: (values) => missingOf(form.meta, values),
		unreadable: (values) => unreadableOf(form.meta, values, currentLocale()),
		withoutSecrets: (values) => withoutSecrets(form.meta.fields, form.meta.tables, values),
		restore: (kept, saved) => restoreValues(form.meta, kept, saved),
		take: (doc, sent) => open(doc.name, {}, sent),
	});
	const isShown = (name: string | null) => form.isReady && form.name === name && form.meta.name === form.doctype;
	/** Number of the latest request: responses to earlier ones are out of date. */
	let newest = 0;
	let openAgain = () => {};
	/** How far the record has loaded, for `QueryState`. */
	const query = reactive({
		data: computed(() => (form.isReady ? form : null)),
		error: computed(() => form.loadError),
		refetch: () => openAgain(),
	});

	/** Loads a stored record, or starts a new one; see `show` of `useForm`. -> whether the record is shown now */
	async function open(name: string | null, given: Values = {}, sent?: Values): Promise<boolean> {
		const number = ++newest;
		openAgain = () => open(name, given);
		editor.expect(name);
		Object.assign(form, { isReady: sent ? form.isReady : isShown(name), loadError: null });
		try {
			const [meta, read] = await Promise.all([
				readMeta(form.doctype),
				name ? fetchRecord(form.doctype, name) : null,
			]);
			if (number !== newest) return false;
			const { doc = null, can = { write: meta.can.create }, files = [], untrusted = null } = read || {};
			Object.assign(form, { meta, can, files, untrusted, isReady: true });
			// A submitted document cannot be edited, only cancelled.
			if (doc?.docstatus) form.can = { ...can, write: false };
			editor.show(doc, given, sent);
			return true;
		} catch (error) {
			if (number === newest) Object.assign(form, { isReady: false, loadError: error });
			return false;
		}
	}

	return Object.assign(editor, { form, query, isShown, open });
}
