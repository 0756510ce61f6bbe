/** The form of a trigger, which shows and sends only the fields of its type. */
import { reactive } from "vue";
import { t } from "../i18n/index.ts";
import { missingFields, toBody, toValues } from "../lib/triggers.ts";
import { blankForm, useForm } from "../records/useForm.ts";
import { boot } from "../state/session.ts";

const isAdministrator = boot.user === "Administrator";

export function useTriggerForm() {
	const form = reactive(blankForm("Agent Trigger"));
	return useForm(form, {
		toValues: (doc) => toValues(doc || {}),
		toBody,
		missing: (values) =>
			missingFields(values, { hasSecret: Boolean(form.doc?.webhook_secret), isAdministrator }).map((fieldname) => ({
				fieldname,
				label: t(`field.${fieldname}`),
			})),
		withoutSecrets: ({ webhook_secret: _, ...values }) => values,
	});
}
