import assert from "node:assert/strict";
import { test } from "node:test";
import { effectScope, nextTick } from "vue";
import { useRecordForm } from "../src/records/useRecordForm.ts";
import { notices } from "../src/state/notices.ts";
import { useTriggerForm } from "../src/triggers/useTriggerForm.ts";

const META = {
	name: "Shop",
	fields: [
		{ fieldname: "title", fieldtype: "Data" },
		{ fieldname: "rent", fieldtype: "Currency", label: "Rent" },
		{ fieldname: "lines", fieldtype: "Table", options: "Line", label: "Lines" },
	],
	tables: { Line: [{ fieldname: "count", fieldtype: "Int" }] },
	can: { create: true },
};
const can = { write: true };

/** A site with two shops, where an answer to a change waits until `answer` is called. */
function openSite(context) {
	const records = { A: { name: "A", title: "One", modified: "1" }, B: { name: "B", title: "Two", modified: "1" } };
	const site = { answer: null };
	context.mock.method(globalThis, "fetch", async (url, { method }) => {
		const { pathname, searchParams } = new URL(url, "http://site");
		if (pathname.endsWith("get_meta")) return Response.json({ message: META });
		const doc = records[searchParams.get("name")];
		if (pathname.endsWith("get_record")) return Response.json(doc ? { message: { doc, can, files: [] } } : {}, { status: doc ? 200 : 404 });
		assert.equal(method, "PUT");
		return new Promise((resolve) => (site.answer = (status = 200) => resolve(Response.json({ data: { name: "A", modified: "2" } }, { status }))));
	});
	return site;
}

for (const status of [200, 417]) {
	test(`a record that was left while it was saved is not shown in the place of another (${status})`, async (context) => {
		const site = openSite(context);
		const editor = useRecordForm("Shop");
		await editor.open("A");
		editor.form.values.title = "New";
		const saving = editor.save();
		await editor.open("B");
		site.answer(status);
		assert.equal(await saving, null);
		assert.equal(editor.form.values.title, "Two");
		assert.equal(editor.form.problem, null);
	});
}

test("the form of a record is not ready while another is wanted, also if that cannot be loaded", async (context) => {
	const site = openSite(context);
	const editor = useRecordForm("Shop");
	assert.equal(editor.form.isReady, false);
	await editor.open("A");
	assert.equal(editor.isShown("A"), true);
	const opening = editor.open("missing");
	assert.equal(editor.form.isReady, false);
	await opening;
	assert.deepEqual([editor.form.isReady, editor.form.loadError !== null], [false, true]);
	await editor.open("B");
	editor.form.values.title = "New";
	const saving = editor.save();
	site.answer();
	await saving;
	assert.equal(editor.isShown("A"), true);
});

test("a number that the site would read as another is not sent", async (context) => {
	const site = openSite(context);
	const editor = useRecordForm("Shop");
	await editor.open("A");
	for (const values of [{ rent: "1,50" }, { rent: "1.234,50" }, { lines: [{ count: "many" }] }]) {
		Object.assign(editor.form.values, { rent: "", lines: [] }, values);
		assert.equal(await editor.save(), null);
		assert.deepEqual(Object.keys(editor.errors), Object.keys(values));
		assert.notEqual(editor.form.problem, null);
	}
	Object.assign(editor.form.values, { rent: "-1.5", lines: [{ count: " 3 " }] });
	const saving = editor.save();
	assert.deepEqual([editor.errors, editor.form.problem], [{}, null]);
	site.answer();
	assert.equal(await saving, "A");
});

test("a record that is saved twice in short time is shown as saved long enough the second time, too", async (context) => {
	context.mock.timers.enable({ apis: ["setTimeout"] });
	const site = openSite(context);
	const editor = useRecordForm("Shop");
	await editor.open("A");
	for (const pause of [2000, 1000]) {
		editor.form.values.title = `Saved ${pause} ms before`;
		const saving = editor.save();
		site.answer();
		await saving;
		context.mock.timers.tick(pause);
	}
	assert.equal(editor.form.wasSaved, true);
	context.mock.timers.tick(2000);
	assert.equal(editor.form.wasSaved, false);
});

/** A site that stores a change of shop A, but whose answer is lost; `stored` is what it has afterwards. */
function loseAnswer(context, stored) {
	context.mock.method(globalThis, "fetch", async (url, { method }) => {
		const { pathname } = new URL(url, "http://site");
		if (pathname.endsWith("get_meta")) return Response.json({ message: META });
		if (pathname.endsWith("get_record")) return Response.json({ message: { doc: { name: "A", title: "One", modified: "1" }, can, files: [] } });
		if (method === "GET") return Response.json({ data: { name: "A", modified: "2", ...stored } });
		throw new TypeError("Failed to fetch");
	});
}

test("a change that was stored although its answer was lost is saved and conflicts with nobody", async (context) => {
	loseAnswer(context, { title: "New" });
	const editor = useRecordForm("Shop");
	await editor.open("A");
	editor.form.values.title = "New";
	assert.equal(await editor.save(), "A");
	assert.deepEqual([editor.form.wasSaved, editor.form.problem, editor.form.conflict], [true, null, null]);
});

test("a change that was not stored when the connection broke conflicts with what somebody else has stored", async (context) => {
	loseAnswer(context, { title: "Theirs" });
	const editor = useRecordForm("Shop");
	await editor.open("A");
	editor.form.values.title = "New";
	assert.equal(await editor.save(), null);
	assert.deepEqual([editor.form.problem.kind, editor.form.conflict.title, editor.form.values.title], ["network", "Theirs", "New"]);
});

test("an address gives a new record no text in the place of rows", async (context) => {
	openSite(context);
	const editor = useRecordForm("Shop");
	await editor.open(null, { title: "New", lines: "many" });
	assert.deepEqual([editor.form.values.title, editor.form.values.lines, editor.isDirty], ["New", [], false]);
});

test("what is typed while a trigger is saved stays, and the rest is as the site has stored it", async (context) => {
	let answer;
	context.mock.method(globalThis, "fetch", () => new Promise((resolve) => (answer = resolve)));
	const stored = { name: "T", trigger_name: "T", trigger_type: "Webhook", agent: "A", webhook_secret: "***", modified: "1" };
	const editor = useTriggerForm();
	editor.show(stored);
	Object.assign(editor.form.values, { prompt: "First", webhook_secret: "new" });
	const saving = editor.save();
	editor.form.values.condition = "doc.total";
	answer(Response.json({ data: { ...stored, prompt: "First", webhook_slug: "t", modified: "2" } }));
	await saving;
	await nextTick();
	const { prompt, condition, webhook_slug, webhook_secret } = editor.form.values;
	assert.deepEqual([prompt, condition, webhook_slug, webhook_secret], ["First", "doc.total", "t", ""]);
	assert.equal(editor.isDirty, true);
});

test("a trigger that was left while it was saved is not shown in the place of another", async (context) => {
	let answer;
	context.mock.method(globalThis, "fetch", () => new Promise((resolve) => (answer = resolve)));
	const stored = { trigger_type: "Manual", agent: "A", modified: "1" };
	const editor = useTriggerForm();
	editor.show({ ...stored, name: "T", trigger_name: "T" });
	editor.form.values.prompt = "New";
	const saving = editor.save();
	editor.show({ ...stored, name: "U", trigger_name: "U" });
	answer(Response.json({ data: { ...stored, name: "T", trigger_name: "T", prompt: "New" } }));
	await saving;
	assert.equal(editor.form.name, "U");
});

const TRIGGER = { name: "T", trigger_name: "T", trigger_type: "Manual", agent: "A", modified: "1" };

test("a change from outside arrives in the fields that were left alone, and is what discarding returns to", async () => {
	const editor = useTriggerForm();
	editor.show(TRIGGER);
	editor.form.values.prompt = "Mine";
	editor.follow({ ...TRIGGER, agent: "B", modified: "2" });
	assert.deepEqual([editor.form.values.prompt, editor.form.values.agent, editor.form.since], ["Mine", "B", "1"]);
	editor.discard();
	assert.deepEqual([editor.form.values.prompt, editor.form.values.agent, editor.form.since], ["", "B", "2"]);
});

test("after a conflict, one's own changes are saved over the version that caused it", async (context) => {
	const sent = [];
	const theirs = { ...TRIGGER, agent: "B", modified: "2" };
	context.mock.method(globalThis, "fetch", async (_, { method, body }) => {
		if (method === "GET") return Response.json({ data: theirs });
		sent.push(JSON.parse(body));
		return Response.json({ data: { ...theirs, prompt: "Mine", modified: "3" } }, { status: sent.length === 1 ? 417 : 200 });
	});
	const editor = useTriggerForm();
	editor.show(TRIGGER);
	editor.form.values.prompt = "Mine";
	assert.equal(await editor.save(), null);
	assert.equal(editor.form.conflict.modified, "2");
	editor.keepMine();
	assert.equal(await editor.save(), "T");
	assert.deepEqual(sent, [{ prompt: "Mine", modified: "1" }, { prompt: "Mine", modified: "2" }]);
	assert.deepEqual([editor.form.conflict, editor.isDirty, editor.form.values.agent], [null, false, "B"]);
});

test("a record that could not be saved after its page was left is reported", async (context) => {
	const site = openSite(context);
	const scope = effectScope();
	const editor = scope.run(() => useRecordForm("Shop"));
	await editor.open("A");
	editor.form.values.title = "New";
	const saving = editor.save();
	scope.stop();
	notices.length = 0;
	site.answer(417);
	assert.equal(await saving, null);
	assert.equal(notices.length, 1);
});

test("unsaved input is stored without secrets, restored, and no longer called restored once it is discarded", async (context) => {
	const stored = new Map();
	const localStorage = {
		getItem: (key) => stored.get(key) ?? null,
		setItem: (key, value) => stored.set(key, value),
		removeItem: (key) => stored.delete(key),
	};
	Object.defineProperty(globalThis, "localStorage", { value: localStorage, configurable: true });
	context.after(() => delete globalThis.localStorage);
	const webhook = { ...TRIGGER, trigger_type: "Webhook", webhook_secret: "***" };
	const before = useTriggerForm();
	before.show(webhook);
	Object.assign(before.form.values, { prompt: "Mine", webhook_secret: "typed" });
	await nextTick();
	const editor = useTriggerForm();
	const { form } = editor;
	editor.show({ ...webhook, agent: "B", modified: "2" });
	assert.deepEqual([form.values.prompt, form.values.agent, form.values.webhook_secret], ["Mine", "B", ""]);
	assert.deepEqual([form.since, form.wasRestored], ["1", true]);
	editor.discard();
	await nextTick();
	assert.deepEqual([form.values.prompt, form.since, form.wasRestored, stored.size], ["", "2", false, 0]);
});
