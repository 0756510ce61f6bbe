import assert from "node:assert/strict";
import { test } from "node:test";
import { diffLines } from "../src/lib/lineDiff.ts";
import { holds, missingOf, onlyLink, restoreValues, sectionsOf, showValue, showWhole, titleOf, toBody, toValues, unreadableOf, withoutSecrets } from "../src/lib/meta.ts";

const ROW = [
	{ fieldname: "article", fieldtype: "Data", reqd: 1 },
	{ fieldname: "count", fieldtype: "Int", default: "1" },
];
const META = {
	fields: [
		{ fieldname: "kind", fieldtype: "Select", options: "Shop\nWeb", default: "Shop" },
		{ fieldname: "site", fieldtype: "Data", depends_on: 'eval:doc.kind == "Web"', mandatory_depends_on: "eval:true" },
		{ fieldname: "part", fieldtype: "Section Break", label: "Lines", depends_on: "kind" },
		{ fieldname: "lines", fieldtype: "Table", options: "Line" },
		{ fieldname: "secret", fieldtype: "Password" },
		{ fieldname: "due", fieldtype: "Datetime", default: "Now" },
		{ fieldname: "is_open", fieldtype: "Check", default: "1" },
	],
	tables: { Line: ROW },
};

test("a condition is a field's name or an expression over doc; what cannot be read counts as true", () => {
	assert.equal(holds("", {}), true);
	assert.equal(holds("kind", { kind: "" }), false);
	assert.equal(holds("lines", { lines: [] }), false);
	assert.equal(holds("eval:doc.count > 1", { count: 2 }), true);
	assert.equal(holds("eval:frappe.boot.nothing", {}), true);
});

test("a form shows what its record has, in sections, without those that are empty", () => {
	const names = (doc, without) =>
		sectionsOf(META.fields, doc, without).map(({ label, fields }) => [label, fields.map((field) => field.fieldname)]);
	assert.deepEqual(names({ kind: "Web" })[0], ["", ["kind", "site"]]);
	assert.deepEqual(names({ kind: "" }), [["", ["kind"]]]);
	assert.deepEqual(names({ kind: "Shop" }, ["lines", "secret", "due", "is_open"]), [["", ["kind"]]]);
});

test("a new record begins with its defaults, but for those that only the site knows", () => {
	const values = toValues(META);
	assert.deepEqual(values, { kind: "Shop", site: "", lines: [], secret: "", due: "", is_open: 1 });
	assert.deepEqual(toBody(META, values), { kind: "Shop", lines: [], is_open: 1 });
});

test("a time of day is shown to the second, with two digits of the hour", () => {
	const meta = { fields: [{ fieldname: "at", fieldtype: "Time" }], tables: {} };
	const shown = ["9:30:00", "0:06:52.645123", "12:00:00"].map((at) => toValues(meta, { at }).at);
	assert.deepEqual(shown, ["09:30:00", "00:06:52", "12:00:00"]);
});

test("only what was changed is sent, rows with their names, and never a password that nobody typed", () => {
	const doc = {
		kind: "Web",
		secret: "*****",
		due: "2025-03-01 10:00:00.000000",
		lines: [{ name: "a1", article: "Nails", count: 3 }],
	};
	const saved = toValues(META, doc);
	const values = JSON.parse(JSON.stringify(saved));
	assert.deepEqual(toBody(META, values, saved), {});
	values.lines[0].count = "5";
	values.lines.push({ article: "Hammer", count: "" });
	values.due = "2025-03-02T09:30";
	assert.deepEqual(toBody(META, values, saved), {
		due: "2025-03-02 09:30",
		lines: [
			{ name: "a1", article: "Nails", count: 5 },
			{ article: "Hammer", count: null },
		],
	});
	values.secret = "new";
	assert.equal(toBody(META, values, saved).secret, "new");
});

test("a row's stored password stays, and none that was typed is kept in the browser", () => {
	const fields = [
		{ fieldname: "secret", fieldtype: "Password" },
		{ fieldname: "rows", fieldtype: "Table", options: "Header" },
	];
	const tables = { Header: [{ fieldname: "value", fieldtype: "Password" }] };
	const meta = { fields, tables };
	const values = toValues(meta, { secret: "***", rows: [{ name: "h1", value: "*****" }] });
	values.rows.push({ value: "typed" });
	assert.deepEqual(toBody(meta, values), { rows: [{ name: "h1", value: "*****" }, { value: "typed" }] });
	values.secret = "typed";
	assert.doesNotMatch(JSON.stringify(withoutSecrets(fields, tables, values)), /typed/);
});

test("what is needed is asked for only where it is shown", () => {
	const missing = (values) => missingOf(META, values).map((field) => field.fieldname);
	assert.deepEqual(missing({ kind: "Shop" }), []);
	assert.deepEqual(missing({ kind: "Web" }), ["site"]);
	assert.deepEqual(missing({ kind: "Web", site: "x" }), []);
});

test("a table of only links is recognized, and values fit on a line", () => {
	assert.equal(onlyLink(ROW), null);
	assert.equal(onlyLink([{ fieldname: "role", fieldtype: "Link" }]).fieldname, "role");
	assert.equal(showValue({ fieldtype: "Text Editor" }, "<p>Call\n Anna</p>"), "Call Anna");
	assert.equal(showValue({ fieldtype: "Small Text" }, "Call\nAnna"), "Call Anna");
	assert.equal(showWhole({ fieldtype: "Small Text" }, "Call\nAnna\n"), "Call\nAnna");
	assert.equal(showWhole({ fieldtype: "Text Editor" }, "<p>Call\n Anna</p>"), "Call Anna");
	assert.equal(showWhole({ fieldtype: "Text" }, null), "");
	assert.equal(showValue({ fieldtype: "Check" }, 0), "");
	assert.equal(showValue({ fieldtype: "Data" }, "a < b  > c"), "a < b > c");
	assert.equal(showValue({ fieldtype: "Date" }, "2026-11-27"), "2026-11-27");
	assert.equal(showValue({ fieldtype: "Date" }, "2026-11-27", "de"), "27.11.2026");
	assert.equal(showValue({ fieldtype: "Currency" }, 1234.5, "de"), "1.234,50");
});

test("a record is called by the text of its title, else by its name", () => {
	const meta = { title_field: "description", fields: [{ fieldname: "description", fieldtype: "Text Editor" }] };
	const html = '<div class="ql-editor"><p>Meier &amp; Sons &lt;b&gt;</p></div>';
	assert.equal(titleOf(meta, { name: "x1", description: html }), "Meier & Sons <b>");
	assert.equal(titleOf(meta, { name: "x1", description: "" }), "x1");
	assert.equal(titleOf({ ...meta, title_field: null }, { name: "x1" }), "x1");
});

test("two texts are compared line by line", () => {
	const kinds = (before, after) => diffLines(before, after).map(({ kind, text }) => `${kind} ${text}`);
	assert.deepEqual(kinds("a\nb\nc", "a\nc\nd"), ["same a", "remove b", "same c", "add d"]);
	assert.deepEqual(kinds("", "a"), ["add a"]);
	assert.deepEqual(kinds("a", "a"), ["same a"]);
});

test("kept values of a table keep the stored passwords of its rows, which the browser does not keep", () => {
	const row = [...ROW, { fieldname: "key", fieldtype: "Password" }];
	const meta = { ...META, tables: { Line: row } };
	const saved = toValues(meta, { kind: "Shop", lines: [{ name: "a1", article: "Nails", key: "****" }, { name: "a2", article: "Tape", key: "***" }] });
	const typed = JSON.parse(JSON.stringify(saved));
	typed.kind = "Web";
	typed.lines[0].key = "new key";
	typed.lines.splice(1, 1, { article: "Glue", key: "secret" });
	const values = restoreValues(meta, withoutSecrets(meta.fields, meta.tables, typed), saved);
	assert.equal(values.kind, "Web");
	assert.deepEqual(
		values.lines.map(({ article, key = "" }) => [article, key]),
		[["Nails", "****"], ["Glue", ""]],
	);
});

test("numbers are read as their reader writes them; stored ones need no reading", () => {
	const meta = { fields: [{ fieldname: "rate", fieldtype: "Currency" }], tables: {} };
	const stored = toValues(meta, { rate: "1.125" });
	assert.deepEqual([stored.rate, unreadableOf(meta, stored, "de")], [1.125, []]);
	assert.deepEqual(toBody(meta, { rate: "1500,50" }, stored, "de"), { rate: 1500.5 });
	assert.equal(unreadableOf(meta, { rate: "1.500" }, "de").length, 1);
	assert.equal(unreadableOf(meta, { rate: "1,5" }, "en").length, 1);
});
