/** Triggers as data: which fields a type needs, what a form sends, and what a trigger waits for. Pure. */
import type { Values } from "../api/types/records.ts";
import { describeCron } from "./cron.ts";

export const TYPES = ["Doc Event", "Schedule", "Webhook", "App Event", "Manual"];
export const TYPE_ICONS: Record<string, string> = {
	"Doc Event": "file",
	Schedule: "clock",
	Webhook: "inbox",
	"App Event": "signal",
	Manual: "play",
};
/** Types that can be backtested. */
export const TESTABLE = ["Doc Event", "Schedule"];
export const DOC_EVENTS = [
	"after_insert",
	"on_update",
	"on_change",
	"on_submit",
	"on_update_after_submit",
	"on_cancel",
	"on_trash",
	"after_delete",
];
export const INTERVALS = ["Minutely", "Hourly", "Daily", "Weekly", "Monthly", "Yearly"];
export const NOTIFY_ON = ["Result", "Failure", "Result or failure"];
export const CATCH_UP = ["Run once", "Skip"];

const COMMON = { agent: "", trigger_type: "Doc Event", disabled: 0, run_as: "", condition: "", prompt: "", notify_user: "", notify_on: "Result or failure", notify_by_mail: 0 };
const OWN: Record<string, Values> = {
	"Doc Event": { reference_doctype: "", doc_event: "on_update", fire_on_own_changes: 0 },
	Schedule: { cron: "", scheduled_interval: "Daily", interval_count: 1, starts_on: "", catch_up: "Run once" },
	Webhook: { webhook_slug: "", webhook_secret: "", signature_header: "", conversation_key: "" },
	"App Event": { event_name: "", fire_on_own_changes: 0 },
	Manual: {},
};
const ALL: Values = Object.assign({ trigger_name: "", ...COMMON }, ...Object.values(OWN));

/** The values of a form: those of a stored trigger, else blank ones. A stored secret is never part of them. */
export function toValues(doc: Values = {}): Values {
	const given = Object.entries(ALL).map(([name, blank]) => [name, doc[name] ?? blank]);
	const values: Values = Object.fromEntries(given);
	return { ...values, webhook_secret: "", starts_on: toLocal(doc.starts_on) };
}

/** "2025-03-01 09:00:00" <-> "2025-03-01T09:00", as a datetime field of the browser has it. */
const toLocal = (text: string | null) => (text ? text.slice(0, 16).replace(" ", "T") : "");
const fromLocal = (text: string | null) => (text ? `${text.replace("T", " ")}:00` : null);

/** The values to send: those of the type's own fields, or of them those that differ from `saved`. A blank secret keeps the stored one. */
export function toBody(values: Values, saved?: Values): Values {
	const names = ["trigger_name", ...Object.keys(COMMON), ...Object.keys(OWN[values.trigger_type])];
	const body: Values = Object.fromEntries(names.map((name) => [name, values[name] === "" ? null : values[name]]));
	if ("starts_on" in body) body.starts_on = values.cron ? null : fromLocal(values.starts_on);
	if (values.cron && "scheduled_interval" in body) body.scheduled_interval = null;
	if (!body.webhook_secret) delete body.webhook_secret;
	if (!saved) return body;
	const before = toBody(saved);
	return Object.fromEntries(Object.entries(body).filter(([name, value]) => value !== before[name]));
}

/** Types that run as the user who saved the trigger, unless a user is named. */
export const actsAsSaver = (type: string) => type === "Schedule" || type === "Webhook";

/** Types that ignore actions of Administrator, unless a user is named. */
export const skipsAdministrator = (type: string) => type === "Doc Event" || type === "App Event";

/** Names of required fields that are empty: checked before the request. */
export function missingFields(values: Values, { hasSecret = false, isAdministrator = false } = {}) {
	const needed: Record<string, string[]> = {
		"Doc Event": ["reference_doctype", "doc_event"],
		Schedule: values.cron ? [] : ["scheduled_interval"],
		Webhook: hasSecret ? [] : ["webhook_secret"],
		"App Event": ["event_name"],
		Manual: [],
	};
	const isAsked = actsAsSaver(values.trigger_type) || (skipsAdministrator(values.trigger_type) && !values.only_others);
	const runAs = isAdministrator && isAsked ? ["run_as"] : [];
	const condition = values.is_condition_incomplete ? ["condition"] : [];
	return [...["trigger_name", ...needed[values.trigger_type], "agent", ...runAs].filter((name) => !values[name]), ...condition];
}

/** The last part of a webhook's URL, as the site derives it from the name. */
export function slugOf({ webhook_slug: slug, trigger_name: name }: Values): string {
	if (slug) return slug;
	return (name || "")
		.toLowerCase()
		.replace(/[^a-z0-9]+/g, "-")
		.replace(/^-+|-+$/g, "");
}

/** What a trigger waits for, as {key, ...values} of a text `waits.<key>`. */
export function waitsFor(trigger: Values): { key: string; [value: string]: unknown } {
	const type = trigger.trigger_type;
	if (type === "Doc Event")
		return { key: `doc.${trigger.doc_event || "on_update"}`, doctype: trigger.reference_doctype || "…" };
	if (type === "Webhook") return { key: "webhook", path: `/agent/hook/${slugOf(trigger)}` };
	if (type === "App Event") return { key: "app", event: trigger.event_name || "…" };
	if (type === "Manual") return { key: "manual" };
	if (trigger.cron) return { key: "cron", cron: trigger.cron, words: describeCron(trigger.cron) };
	return trigger.scheduled_interval
		? { key: `every.${trigger.scheduled_interval}`, count: Number(trigger.interval_count) || 1 }
		: { key: "schedule" };
}

/** A random secret of 48 hexadecimal digits. */
export function makeSecret(crypto = globalThis.crypto): string {
	const bytes = crypto.getRandomValues(new Uint8Array(24));
	return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
