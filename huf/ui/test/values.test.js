import assert from "node:assert/strict";
import { test } from "node:test";
import { colorJson, copyable, describeText, describeValue, summarize } from "../src/lib/values.ts";

test("a list of flat rows is a table", () => {
	const view = describeText('[{"name": "A", "days": 2}, {"name": "B", "note": null}]');
	assert.equal(view.kind, "table");
	assert.deepEqual(view.columns, ["name", "days", "note"]);
	assert.deepEqual(view.rows, [
		["A", 2, undefined],
		["B", undefined, null],
	]);
	assert.deepEqual(view.numeric, [false, true, false]);
});

test("a list of rows beside plain fields is a table with fields", () => {
	const view = describeValue({ count: 1, rows: [{ name: "A" }] });
	assert.equal(view.kind, "table");
	assert.deepEqual(view.fields, [["count", 1]]);
});

test("a flat object is a list of fields, a deep one is JSON", () => {
	assert.equal(describeValue({ doctype: "User", filters: { enabled: 1 } }).kind, "fields");
	assert.equal(describeValue({ deep: { text: "x".repeat(200) } }).kind, "json");
	assert.equal(describeValue([{ a: { b: 1 } }]).kind, "json");
});

test("text stays text, and nothing is called empty", () => {
	assert.deepEqual(describeText("12"), { kind: "text", text: "12" });
	assert.deepEqual(describeText("no JSON {"), { kind: "text", text: "no JSON {" });
	for (const nothing of ["", null, undefined, "null", "{}"])
		assert.equal(describeText(nothing).kind, "empty");
	assert.equal(describeText("[]").kind, "json");
});

test("coloured JSON is escaped", () => {
	const html = colorJson('{\n  "a<b": "<img src=x onerror=alert(1)>",\n  "n": -1.5e3,\n  "t": true\n}');
	assert.doesNotMatch(html, /<img/);
	assert.match(html, /<span class="json-key">&quot;a&lt;b&quot;<\/span>:/);
	assert.match(html, /<span class="json-number">-1.5e3<\/span>/);
});

test("what is copied is indented JSON or the text itself", () => {
	assert.equal(copyable('{"a":1}'), '{\n  "a": 1\n}');
	assert.equal(copyable("plain"), "plain");
	assert.equal(copyable(null), "");
});

test("a summary is one short line", () => {
	assert.equal(
		summarize({ doctype: "User", filters: { enabled: 1 } }),
		'doctype: User, filters: {"enabled":1}',
	);
	assert.equal(summarize({ text: "a\nb".repeat(100) }, 20).length, 20);
	assert.equal(summarize(null), "");
});
