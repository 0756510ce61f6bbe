import assert from "node:assert/strict";
import { test } from "node:test";
import { describeCron, nameWeekdays } from "../src/lib/cron.ts";
import {
	makeSecret,
	missingFields,
	slugOf,
	toBody,
	toValues,
	TYPES,
	waitsFor,
} from "../src/lib/triggers.ts";

const valuesOf = (doc) => toValues({ trigger_name: "Leads", agent: "Helper", ...doc });

test("only the fields of the type are sent, and blank ones as nothing", () => {
	const body = toBody(valuesOf({ trigger_type: "App Event", event_name: "paid", cron: "0 9 * * *" }));
	assert.equal(body.event_name, "paid");
	assert.equal(body.prompt, null);
	for (const name of ["cron", "webhook_slug", "reference_doctype"]) assert.equal(name in body, false);
});

test("a stored secret never reaches the form, and a blank one leaves it as it is", () => {
	const values = valuesOf({ trigger_type: "Webhook", webhook_secret: "********" });
	assert.equal(values.webhook_secret, "");
	assert.equal("webhook_secret" in toBody(values), false);
	assert.equal(toBody({ ...values, webhook_secret: "new" }).webhook_secret, "new");
});

test("a cron expression leaves no interval behind", () => {
	const values = valuesOf({ trigger_type: "Schedule", starts_on: "2025-03-01 09:00:00" });
	assert.equal(values.starts_on, "2025-03-01T09:00");
	assert.equal(toBody(values).starts_on, "2025-03-01 09:00:00");
	const body = toBody({ ...values, cron: "0 9 * * *" });
	assert.deepEqual([body.cron, body.scheduled_interval, body.starts_on], ["0 9 * * *", null, null]);
});

test("what a type needs is missed, and nothing else", () => {
	const missing = (doc, about) => missingFields(valuesOf(doc), about);
	assert.deepEqual(missing({ trigger_type: "Doc Event" }), ["reference_doctype"]);
	assert.deepEqual(missing({ trigger_type: "Webhook" }), ["webhook_secret"]);
	assert.deepEqual(missing({ trigger_type: "Webhook" }, { hasSecret: true }), []);
	assert.deepEqual(missing({ trigger_type: "Schedule" }, { isAdministrator: true }), ["run_as"]);
	assert.deepEqual(missing({ trigger_type: "App Event", event_name: "paid" }, { isAdministrator: true }), ["run_as"]);
	const others = { ...valuesOf({ trigger_type: "App Event", event_name: "paid" }), only_others: true };
	assert.deepEqual(missingFields(others, { isAdministrator: true }), []);
	assert.deepEqual(missing({ trigger_type: "Manual" }, { isAdministrator: true }), []);
	assert.deepEqual(missingFields(toValues({ trigger_type: "Manual" })), ["trigger_name", "agent"]);
	assert.deepEqual(missingFields({ ...valuesOf({ trigger_type: "Manual" }), is_condition_incomplete: true }), ["condition"]);
});

test("another type's leftovers are no change", () => {
	const saved = valuesOf({ trigger_type: "Manual" });
	assert.deepEqual(toBody({ ...saved, cron: "* * * * *" }, saved), {});
	assert.deepEqual(toBody({ ...saved, prompt: "Hi" }, saved), { prompt: "Hi" });
});

test("every type says what it waits for", () => {
	const keys = TYPES.map((type) => waitsFor({ trigger_type: type, trigger_name: "A b!" }).key);
	assert.deepEqual(keys, ["doc.on_update", "schedule", "webhook", "app", "manual"]);
	assert.equal(waitsFor({ trigger_type: "Webhook", trigger_name: "A b!" }).path, "/agent/hook/a-b");
	assert.deepEqual(waitsFor({ trigger_type: "Schedule", scheduled_interval: "Daily", interval_count: 2 }), {
		key: "every.Daily",
		count: 2,
	});
});

test("an address is made of the name unless it has its own", () => {
	assert.equal(slugOf({ trigger_name: "  New Leads (DE) " }), "new-leads-de");
	assert.equal(slugOf({ trigger_name: "x", webhook_slug: "own" }), "own");
});

test("usual cron expressions are said in words, unusual ones are not guessed at", () => {
	assert.deepEqual(describeCron("0 9 * * 1-5"), { key: "weekdays", time: "09:00" });
	assert.deepEqual(describeCron("30 18 * * *"), { key: "daily", time: "18:30" });
	assert.deepEqual(describeCron("0 8 * * 1,7"), { key: "weekly", days: [1, 0], time: "08:00" });
	assert.deepEqual(describeCron("0 7 1 * *"), { key: "monthly", day: 1, time: "07:00" });
	assert.deepEqual(describeCron("*/15 * * * *"), { key: "minutes", minutes: 15 });
	assert.deepEqual(describeCron("5 * * * *"), { key: "hourly", minute: "05" });
	for (const odd of ["", "@daily", "0 9 * 2 *", "0 9-17 * * *", "0 9 1 * 1", "* 9 * * *", "0 9 * * 1#2"])
		assert.equal(describeCron(odd), null, odd);
	assert.equal(nameWeekdays([1, 0]), "Monday and Sunday");
});

test("secrets are long and never the same", () => {
	assert.match(makeSecret(), /^[0-9a-f]{48}$/);
	assert.notEqual(makeSecret(), makeSecret());
});
