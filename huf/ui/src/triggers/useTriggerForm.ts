/**
 * The values of a trigger being edited. Unsaved ones are stored in this browser, without the secret, and restored after a
 * reload.
 */
import { computed, reactive, ref, watch } from "vue";
import { createTrigger, readTrigger, updateTrigger } from "../api/triggers.ts";
import { t } from "../i18n/index.ts";
import { parseJson } from "../lib/json.ts";
import { isChanged, missingFields, toBody, toValues } from "../lib/triggers.ts";
import { boot } from "../state/session.ts";
import { showError } from "../state/notices.ts";
import { invalidateAll } from "../state/queries.ts";
import { recall, remember } from "../state/storage.ts";
import type { Trigger } from "../api/types/triggers.ts";
import type { Values } from "../api/types/records.ts";
import type { ApiError } from "../api/errors.ts";

const isAdministrator = boot.user === "Administrator";

export function useTriggerForm() {
	const form = reactive({
		name: null as string | null,
		values: toValues(),
		saved: toValues(),
		/** `modified` of the loaded trigger. */
		modified: null as string | null,
		/** `modified` of the trigger when the input began: the site refuses to overwrite a newer one. */
		since: null as string | null,
		hasSecret: false,
		isSaving: false,
		isTried: false,
		wasRestored: false,
		problem: null as ApiError | null,
		isConflict: false,
	});
	const isDirty = computed(() => isChanged(form.values, form.saved));
	const missing = computed(() => missingFields(form.values, { hasSecret: form.hasSecret, isAdministrator }));
	const errors = computed(() =>
		form.isTried ? Object.fromEntries(missing.value.map((name) => [name, t("form.needed")])) : {},
	);
	const draftName = () => (form.name ? `draft:trigger:${form.name}` : "draft:new-trigger");

	/** Starts with a stored trigger, or with blank values and given ones. */
	function open(doc: Trigger | null, given: Values = {}): void {
		const saved: Values = { ...toValues(doc || {}), ...given };
		Object.assign(form, {
			name: doc?.name || null,
			saved,
			values: { ...saved },
			modified: doc?.modified || null,
			since: doc?.modified || null,
			hasSecret: Boolean(doc?.webhook_secret),
			isTried: false,
			problem: null,
			isConflict: false,
			wasRestored: false,
		});
		const draft = parseJson(recall(draftName()));
		if (!draft?.values) return;
		const restored = { ...saved, ...draft.values, disabled: saved.disabled };
		if (!isChanged(restored, saved)) return;
		Object.assign(form, { values: restored, since: draft.modified, wasRestored: true });
	}

	function discard() {
		remember(draftName(), null);
		const { saved, modified } = form;
		Object.assign(form, { values: { ...saved }, since: modified, isTried: false, problem: null, wasRestored: false });
	}

	/** The stored trigger has changed outside the form, by its switch or by another user. */
	function follow(doc: Trigger, wasOurs: boolean): void {
		const wasUntouched = !isDirty.value;
		if (wasUntouched) return open(doc);
		form.saved.disabled = form.values.disabled = doc.disabled;
		if (wasOurs) form.since = form.modified = doc.modified || null;
	}

	/** -> the stored trigger, or null: the form shows the reason, or another trigger */
	async function save({ isOver = false, ...given }: Values = {}): Promise<Trigger | null> {
		form.isTried = true;
		form.problem = null;
		Object.assign(form.values, given);
		if (missing.value.length) return null;
		form.isSaving = true;
		const draft = draftName();
		const { name } = form;
		const sent = { ...form.values };
		try {
			const doc = await store(isOver);
			remember(draft, null);
			if (form.name === name) take(doc, sent);
			invalidateAll();
			return doc;
		} catch (error) {
			if (form.name !== name) {
				showError(error);
				return null;
			}
			form.problem = error;
			form.isConflict = await isOutdated();
			return null;
		} finally {
			form.isSaving = false;
		}
	}

	/** Shows the stored trigger, and keeps input made since these values were sent. */
	function take(doc: Trigger, sent: Values): void {
		const typed = Object.entries(form.values).filter(([field, value]) => value !== sent[field]);
		open(doc);
		Object.assign(form.values, Object.fromEntries(typed));
	}

	async function store(isOver: boolean): Promise<Trigger> {
		const { trigger_name, ...body } = toBody(form.values);
		if (!form.name) return createTrigger({ trigger_name, ...body });
		const modified = isOver ? (await readTrigger(form.name)).modified : form.since;
		return updateTrigger(form.name, { ...changedOf(body, toBody(form.saved)), modified });
	}

	async function isOutdated(): Promise<boolean> {
		if (!form.name) return false;
		const stored = await readTrigger(form.name).catch(() => null);
		return stored !== null && stored.modified !== form.since;
	}

	watch(
		() => [form.values, form.saved],
		() => {
			const { webhook_secret: _, ...values } = form.values;
			// Only what was changed: others may save the other fields before this is restored.
			const kept = { modified: form.since, values: changedOf(values, form.saved) };
			const draft = isDirty.value ? JSON.stringify(kept) : null;
			remember(draftName(), draft);
		},
		{ deep: true },
	);

	return { form, isDirty, missing, errors, open, discard, follow, save };
}

const changedOf = (values: Values, saved: Values): Values =>
	Object.fromEntries(Object.entries(values).filter(([field, value]) => value !== saved[field]));
