/**
 * The values of a record being edited. Unsaved ones are stored in this browser, without passwords, and restored after a
 * reload.
 */
import { computed, markRaw, reactive, watch } from "vue";
import { createRecord, fetchRecord, updateRecord } from "../api/records.ts";
import { currentLocale, t } from "../i18n/index.ts";
import { isChanged, missingOf, restoreValues, toBody, toValues, unreadableOf, withoutSecrets } from "../lib/meta.ts";
import { parseJson } from "../lib/json.ts";
import { showError } from "../state/notices.ts";
import type { ApiError } from "../api/errors.ts";
import type { Attachment } from "../api/types/conversations.ts";
import type { Field, Meta, RecordAnswer, Values } from "../api/types/records.ts";
import { invalidateAll } from "../state/queries.ts";
import { recall, remember } from "../state/storage.ts";
import { readMeta } from "./metas.ts";

const NOTHING: Meta = markRaw({ name: "", label: "", fields: [], tables: {}, can: {} });

export function useRecordForm(doctype: string) {
	const form = reactive({
		doctype,
		meta: NOTHING,
		name: null as string | null,
		/** The stored record as it was loaded. */
		doc: null as Values | null,
		/** `modified` of the record when the input began: restored input may be older than `doc`. */
		since: null as string | null,
		can: {} as Record<string, boolean>,
		files: [] as Attachment[],
		/** Where its outside content came from, as agents see it. */
		untrusted: null as string | null,
		values: {} as Values,
		saved: {} as Values,
		isLoading: false,
		loadError: null as ApiError | null,
		isSaving: false,
		isTried: false,
		wasSaved: false,
		wasRestored: false,
		problem: null as Pick<ApiError, "message" | "kind"> | null,
		isConflict: false,
	});
	const isDirty = computed(() => isChanged(form.meta, form.values, form.saved, currentLocale()));
	const missing = computed(() => missingOf(form.meta, form.values));
	const unreadable = computed(() => unreadableOf(form.meta, form.values, currentLocale()));
	const errors = computed(() => {
		if (!form.isTried) return {};
		const withText = (text: string) => (field: Field) => [field.fieldname, text];
		const found = [...missing.value.map(withText(t("form.needed"))), ...unreadable.value.map(withText(t("edit.wrong.number")))];
		return Object.fromEntries(found);
	});
	const draftName = () => `draft:${form.doctype}:${form.name || ""}`;
	/** Number of the latest request: responses to earlier ones are out of date. */
	let newest = 0;
	/** The record requested last: the page may move on while another is being saved. */
	let wanted = "";
	let savedTimer: ReturnType<typeof setTimeout>;

	/**
	 * Loads a stored record, or starts a new one with given values for fields that it has. `sent`: the values just stored;
	 * input since then stays. -> whether the record is shown now
	 */
	async function open(name: string | null, given: Values = {}, sent: Values | null = null): Promise<boolean> {
		const number = ++newest;
		wanted = `${form.doctype}:${name || ""}`;
		Object.assign(form, { isLoading: true, loadError: null });
		try {
			const [meta, read] = await Promise.all([
				readMeta(form.doctype),
				name ? fetchRecord(form.doctype, name) : null,
			]);
			if (number !== newest) return false;
			const typed = sent && isChanged(meta, form.values, sent, currentLocale()) ? form.values : null;
			if (sent) remember(draftName(), null);
			take(meta, read, given);
			if (typed) form.values = typed;
			return true;
		} catch (error) {
			if (number === newest) form.loadError = error;
			return false;
		} finally {
			if (number === newest) form.isLoading = false;
		}
	}

	function take(meta: Meta, read: RecordAnswer | null, given: Values = {}): void {
		const blank = toValues(meta, read?.doc);
		const known = Object.entries(given).filter(([name]) => name in blank && !Array.isArray(blank[name]));
		const saved = { ...blank, ...Object.fromEntries(known) };
		Object.assign(form, {
			meta,
			name: read?.doc.name || null,
			doc: read?.doc || null,
			since: read?.doc.modified,
			can: read?.can || { write: meta.can.create },
			files: read?.files || [],
			untrusted: read?.untrusted || null,
			saved,
			values: copy(saved),
			...{ isTried: false, problem: null, isConflict: false, wasRestored: false },
		});
		const draft = parseJson(recall(draftName()));
		if (!draft?.values) return;
		const restored = restoreValues(meta, draft.values, copy(saved));
		if (!isChanged(meta, restored, saved, currentLocale())) return;
		Object.assign(form, { values: restored, since: draft.modified, wasRestored: true });
	}

	function discard() {
		remember(draftName(), null);
		const since = form.doc?.modified;
		Object.assign(form, { values: copy(form.saved), since, isTried: false, problem: null, wasRestored: false });
	}

	/** -> the stored record's name, or null: the form shows the reason, or another record */
	async function save({ isOver = false, ...given }: Values = {}): Promise<string | null> {
		Object.assign(form, { isTried: true, problem: null, wasSaved: false });
		Object.assign(form.values, given);
		if (missing.value.length) return null;
		if (unreadable.value.length) {
			const fields = unreadable.value.map((field) => field.label || field.fieldname).join(", ");
			form.problem = { message: t("form.number", { fields }), kind: "rejected" };
			return null;
		}
		form.isSaving = true;
		const draft = draftName();
		const sent = copy(form.values);
		const saved = wanted;
		try {
			const { name } = await store(isOver);
			remember(draft, null);
			if (wanted !== saved) {
				invalidateAll();
				return null;
			}
			await open(name, {}, sent);
			invalidateAll();
			form.wasSaved = true;
			clearTimeout(savedTimer);
			savedTimer = setTimeout(() => (form.wasSaved = false), 2500);
			return name;
		} catch (error) {
			if (wanted !== saved) {
				showError(error);
				return null;
			}
			// The problem is shown only once the form can be saved again; a key pressed before would be lost.
			const isConflict = await isOutdated();
			Object.assign(form, { problem: error, isConflict });
			return null;
		} finally {
			form.isSaving = false;
		}
	}

	async function store(isOver: boolean): Promise<{ name: string }> {
		const { doctype, name, meta, values, saved } = form;
		if (!name) return createRecord(doctype, { ...toBody(meta, values, null, currentLocale()), ...(meta.is_named ? { name: values.name } : {}) });
		const modified = isOver ? (await fetchRecord(doctype, name)).doc.modified : form.since;
		return updateRecord(doctype, name, { ...toBody(meta, values, saved, currentLocale()), modified });
	}

	async function isOutdated() {
		if (!form.name) return false;
		const now = await fetchRecord(form.doctype, form.name).catch(() => null);
		return now !== null && now.doc.modified !== form.since;
	}

	watch(
		() => [form.values, form.saved],
		() => {
			const { meta, values, saved, since } = form;
			// Only what was changed: others may save the other fields before this is restored.
			const changed = pick(values, ["name", ...Object.keys(toBody(meta, values, saved, currentLocale()))]);
			const kept = withoutSecrets(meta.fields.filter(({ fieldname }) => fieldname in changed), meta.tables, changed);
			const draft = isDirty.value ? JSON.stringify({ modified: since, values: kept }) : null;
			if (form.meta !== NOTHING) remember(draftName(), draft);
		},
		{ deep: true },
	);

	return reactive({ form, isDirty, missing, errors, open, discard, save });
}

const pick = (values: Values, names: string[]): Values => Object.fromEntries(names.map((name) => [name, values[name]]));
const copy = (values: Values): Values => JSON.parse(JSON.stringify(values));
