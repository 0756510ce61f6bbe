import assert from "node:assert/strict";
import { test } from "node:test";
import { nextTick } from "vue";
import { useRecordForm } from "../src/records/useRecordForm.ts";
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
		if (pathname.endsWith("get_record")) return Response.json({ message: { doc: records[searchParams.get("name")], can, files: [] } });
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
	editor.open(stored);
	Object.assign(editor.form.values, { prompt: "First", webhook_secret: "new" });
	const saving = editor.save();
	editor.form.values.condition = "doc.total";
	answer(Response.json({ data: { ...stored, prompt: "First", webhook_slug: "t", modified: "2" } }));
	await saving;
	await nextTick();
	const { prompt, condition, webhook_slug, webhook_secret } = editor.form.values;
	assert.deepEqual([prompt, condition, webhook_slug, webhook_secret], ["First", "doc.total", "t", ""]);
	assert.equal(editor.isDirty.value, true);
});

test("a trigger that was left while it was saved is not shown in the place of another", async (context) => {
	let answer;
	context.mock.method(globalThis, "fetch", () => new Promise((resolve) => (answer = resolve)));
	const stored = { trigger_type: "Manual", agent: "A", modified: "1" };
	const editor = useTriggerForm();
	editor.open({ ...stored, name: "T", trigger_name: "T" });
	editor.form.values.prompt = "New";
	const saving = editor.save();
	editor.open({ ...stored, name: "U", trigger_name: "U" });
	answer(Response.json({ data: { ...stored, name: "T", trigger_name: "T", prompt: "New" } }));
	await saving;
	assert.equal(editor.form.name, "U");
});
