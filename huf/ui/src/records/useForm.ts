/**
 * The values of a record being edited: what has changed, what is wrong, and saving. Unsaved values are stored in this
 * browser, without secrets, and restored after a reload.
 */
import { computed, onScopeDispose, reactive, watch } from "vue";
import type { ApiError } from "../api/errors.ts";
import { createRecord, readRecord, updateRecord } from "../api/resource.ts";
import type { Field, Values } from "../api/types/records.ts";
import { t } from "../i18n/index.ts";
import { parseJson } from "../lib/json.ts";
import { showError } from "../state/notices.ts";
import { invalidateAll } from "../state/queries.ts";
import { recall, remember } from "../state/storage.ts";

const SAVED_MS = 2500;

type Named = Pick<Field, "fieldname" | "label">;

/** What the form of one DocType knows about its fields. */
interface FormKind {
	/** The form's values of a stored record, or of a new one. */
	toValues: (doc: Values | null) => Values;
	/** The values to send: all, or those that differ from `saved`. */
	toBody: (values: Values, saved?: Values) => Values;
	/** Required fields that are empty. */
	missing: (values: Values) => Named[];
	/** Fields whose numbers cannot be parsed. */
	unreadable?: (values: Values) => Named[];
	withoutSecrets: (values: Values) => Values;
	/** Puts values that were kept in the browser into the stored ones. */
	restore?: (kept: Values, saved: Values) => Values;
	/** Shows a record as the site has just stored it; the default is `show`. */
	take?: (doc: Values, sent?: Values) => unknown;
}

export const blankForm = (doctype: string) => ({
	doctype,
	/** null: a new record. */
	name: null as string | null,
	/** The stored record as it was loaded. */
	doc: null as Values | null,
	/** `modified` of the record when the input began: restored input may be older than `doc`. */
	since: null as string | null,
	can: { write: true } as Record<string, boolean>,
	values: {} as Values,
	saved: {} as Values,
	isSaving: false,
	/** A save was tried: only then are empty fields marked. */
	isTried: false,
	wasSaved: false,
	wasRestored: false,
	problem: null as Pick<ApiError, "message" | "kind"> | null,
	/** The stored record, if somebody else has changed it since. */
	conflict: null as Values | null,
});

type Form = ReturnType<typeof blankForm>;
export type Editor = ReturnType<typeof useForm>;

const draftOf = (doctype: string, name: string | null) => `draft:${doctype}:${name || ""}`;

/** The unsaved values of a record that this browser has kept. */
export const keptInput = (doctype: string, name: string): Values => parseJson(recall(draftOf(doctype, name)))?.values || {};

export const discardInput = (doctype: string, name: string) => remember(draftOf(doctype, name), null);

/** `form`: reactive, made by `blankForm`. */
export function useForm(form: Form, kind: FormKind) {
	const isDirty = computed(() => Object.keys(kind.toBody(form.values, form.saved)).length > 0);
	const missing = computed(() => kind.missing(form.values));
	const unreadable = computed(() => kind.unreadable?.(form.values) || []);
	const errors = computed<Record<string, string>>(() => {
		if (!form.isTried) return {};
		const withText = (text: string) => (field: Named) => [field.fieldname, text];
		return Object.fromEntries([
			...missing.value.map(withText(t("form.needed"))),
			...unreadable.value.map(withText(t("edit.wrong.number"))),
		]);
	});
	const draftName = () => draftOf(form.doctype, form.name);
	/** The record that the page wants to show, which may be loading still; null once the page is gone. */
	let wanted: string | null = null;
	let savedTimer: ReturnType<typeof setTimeout>;

	/** Another record is about to be shown: a save of the present one that is under way will leave it alone. */
	function expect(name: string | null): void {
		wanted = `${form.doctype}:${name || ""}`;
	}

	/**
	 * Shows a stored record, or a new one with given values for fields that it has. `sent`: the values just stored; input
	 * since then stays.
	 */
	function show(doc: Values | null, given: Values = {}, sent?: Values): void {
		const typed = sent && differenceOf(form.values, sent);
		const blank = kind.toValues(doc);
		const known = Object.entries(given).filter(([name]) => name in blank && !Array.isArray(blank[name]));
		const saved = { ...blank, ...Object.fromEntries(known) };
		expect(doc?.name);
		Object.assign(form, { name: doc?.name || null, doc, saved });
		reset();
		if (typed) return void Object.assign(form.values, typed);
		const draft = parseJson(recall(draftName()));
		if (!draft?.values) return;
		const restored = kind.restore ? kind.restore(draft.values, copy(saved)) : { ...saved, ...draft.values };
		if (!Object.keys(kind.toBody(restored, saved)).length) return;
		Object.assign(form, { values: restored, since: draft.modified, wasRestored: true });
	}

	/** The stored record has changed outside the form. Input stays, and conflicts with the change unless that is `isOurs`. */
	function follow(doc: Values, isOurs = false): void {
		if (isOurs || !isDirty.value) form.since = doc.modified;
		const typed = differenceOf(form.values, form.saved);
		const saved = kind.toValues(doc);
		Object.assign(form, { doc, saved, values: { ...copy(saved), ...typed } });
	}

	function reset(): void {
		const since = form.doc?.modified || null;
		const untouched = { isTried: false, wasRestored: false, problem: null, conflict: null };
		Object.assign(form, { values: copy(form.saved), since, ...untouched });
	}

	function discard(): void {
		remember(draftName(), null);
		reset();
	}

	/** `given`: values besides the form's. -> the stored record's name, or null: the form shows the reason, or another record */
	async function save(given: Values = {}): Promise<string | null> {
		Object.assign(form, { isTried: true, problem: null, conflict: null, wasSaved: false });
		if (missing.value.length) return null;
		if (unreadable.value.length) {
			const fields = unreadable.value.map((field) => field.label || field.fieldname).join(", ");
			form.problem = { message: t("form.number", { fields }), kind: "rejected" };
			return null;
		}
		form.isSaving = true;
		const { doctype, name, since } = form;
		const draft = draftName();
		const sent = copy(form.values);
		const begun = wanted;
		try {
			const body = { ...kind.toBody(form.values, name ? form.saved : undefined), ...given };
			const doc = await (name ? update(name, { ...body, modified: since }) : createRecord(doctype, body));
			remember(draft, null);
			const isLeft = wanted !== begun;
			if (!isLeft) await take(doc, sent);
			invalidateAll();
			if (isLeft) return null;
			form.wasSaved = true;
			clearTimeout(savedTimer);
			savedTimer = setTimeout(() => (form.wasSaved = false), SAVED_MS);
			return doc.name;
		} catch (error) {
			const stored = name && wanted === begun && (await readRecord(doctype, name).catch(() => null));
			// The problem is shown only once the form can be saved again; a key pressed before would be lost.
			if (wanted !== begun) showError(error);
			else Object.assign(form, { problem: error, conflict: stored && stored.modified !== since ? stored : null });
			return null;
		} finally {
			form.isSaving = false;
		}
	}

	/** -> the stored record, also if only the site's answer was lost */
	async function update(name: string, body: Values): Promise<Values> {
		const { doctype, since, values } = form;
		const sent = copy(values);
		try {
			return await updateRecord(doctype, name, body);
		} catch (error) {
			const stored = error.kind === "network" && (await readRecord(doctype, name).catch(() => null));
			const isStored = stored && stored.modified !== since && !Object.keys(kind.toBody(sent, kind.toValues(stored))).length;
			if (isStored) return stored;
			throw error;
		}
	}

	const take = kind.take || ((doc: Values, sent?: Values) => show(doc, {}, sent));

	/** After a conflict: discards the input, and shows what somebody else has stored. */
	function takeTheirs() {
		const theirs = form.conflict!;
		discard();
		return take(theirs);
	}

	/** After a conflict: the next save overwrites what somebody else has stored in the fields changed here. */
	function keepMine(): void {
		form.since = form.conflict!.modified;
	}

	watch(
		() => [form.values, form.saved],
		() => {
			// Only what was changed: others may save the other fields before this is restored.
			const kept = { modified: form.since, values: kind.withoutSecrets(differenceOf(form.values, form.saved)) };
			remember(draftName(), isDirty.value ? JSON.stringify(kept) : null);
		},
		{ deep: true },
	);
	onScopeDispose(() => (wanted = null), true);

	return reactive({ form, isDirty, missing, errors, expect, show, follow, discard, save, takeTheirs, keepMine });
}

const isSame = (one: unknown, other: unknown) => JSON.stringify(one) === JSON.stringify(other);
const differenceOf = (values: Values, saved: Values): Values =>
	Object.fromEntries(Object.entries(values).filter(([name, value]) => !isSame(value, saved[name])));
const copy = (values: Values): Values => JSON.parse(JSON.stringify(values));
