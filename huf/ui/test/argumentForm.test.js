import assert from "node:assert/strict";
import { test } from "node:test";
import { spareFields, toArguments, toFields } from "../src/lib/argumentForm.ts";

const closed = (properties, required = []) => ({ type: "object", properties, required });
const SCHEMA = closed(
	{
		name: { type: "string", description: "The document's name (its ID)" },
		values: closed({
			note: { type: "string", description: "Note" },
			qty: { type: "integer", description: "Qty" },
			paid: { type: "integer", enum: [0, 1], description: "Paid" },
			level: { type: "integer", enum: [1, 2, 3], description: "Level" },
			due: { type: "string", description: "Due: a date, YYYY-MM-DD" },
			lines: { type: "array", description: "Lines" },
		}),
	},
	["name", "values"],
);
const GIVEN = { name: "O-1", values: { note: "new", qty: 2, paid: 1, lines: [{ item: "nail" }], level: 2 } };
const fill = (fields, values) =>
	fields.map((field) => (field.key in values ? { ...field, value: values[field.key] } : field));

test("arguments become fields of their kinds, nested ones too", () => {
	const fields = toFields(SCHEMA, GIVEN);
	assert.deepEqual(
		fields.map(({ key, kind, label }) => [key, kind, label]),
		[
			["name", "text", "The document's name (its ID)"],
			["values.note", "text", "Note"],
			["values.qty", "number", "Qty"],
			["values.paid", "check", "Paid"],
			["values.lines", "json", "Lines"],
			["values.level", "choice", "Level"],
		],
	);
});

test("unedited values come back unchanged", () => {
	const odd = { name: "O-1", values: { note: null, qty: "2", lines: [] } };
	for (const given of [GIVEN, odd])
		assert.deepEqual(toArguments(toFields(SCHEMA, given), given), { arguments: given, wrong: [] });
});

test("what was edited has the type its schema asks for", () => {
	const edits = {
		"values.note": "better",
		"values.qty": "3.5",
		"values.paid": false,
		"values.lines": "[]",
		"values.level": "3",
	};
	const made = toArguments(fill(toFields(SCHEMA, GIVEN), edits), GIVEN);
	assert.deepEqual(made.arguments.values, { note: "better", qty: 3.5, paid: 0, lines: [], level: 3 });
	assert.equal(GIVEN.values.note, "new", "what was given stays as it is");
});

test("numbers are read as their reader writes them, and thousands separators are refused", () => {
	const read = (text, locale) =>
		toArguments(fill(toFields(SCHEMA, GIVEN), { "values.qty": text }), GIVEN, locale);
	for (const [text, number] of [["1500,50", 1500.5], ["1,500", 1.5], ["2000.75", 2000.75], ["-0.125", -0.125], [" ", null]])
		assert.equal(read(text, "de").arguments.values.qty, number, text);
	const [qty] = toFields(SCHEMA, { values: { qty: 1.125 } }, "de").filter(({ key }) => key === "values.qty");
	assert.equal(qty.value, "1,125");
	assert.equal(read("1.125", "en").arguments.values.qty, 1.125);
	for (const text of ["1.500", "1.500,00", "1 500", "0x10", "Infinity"])
		assert.deepEqual(read(text, "de").wrong, ["values.qty"], text);
	for (const text of ["1,500", "1,5"]) assert.deepEqual(read(text, "en").wrong, ["values.qty"], text);
});

test("what is no such value is named", () => {
	const edits = { "values.qty": "three", "values.lines": "[", "values.level": "9" };
	const { wrong } = toArguments(fill(toFields(SCHEMA, GIVEN), edits), GIVEN);
	assert.deepEqual(wrong, ["values.qty", "values.lines", "values.level"]);
});

test("fields that are not given can be added, and are sent only when they are filled", () => {
	const fields = toFields(SCHEMA, GIVEN);
	const [due] = spareFields(SCHEMA, fields);
	assert.deepEqual([due.key, due.hint], ["values.due", "a date, YYYY-MM-DD"]);
	assert.deepEqual(toArguments([...fields, due], GIVEN).arguments, GIVEN);
	const made = toArguments([...fields, { ...due, value: "2025-03-01" }], GIVEN);
	assert.equal(made.arguments.values.due, "2025-03-01");
});

test("what is needed and missing is asked for; without a schema there are no fields", () => {
	assert.deepEqual(
		toFields(SCHEMA, {}).map(({ key, kind }) => [key, kind]),
		[
			["name", "text"],
			["values", "json"],
		],
	);
	assert.equal(toFields(null, GIVEN), null);
	assert.equal(toFields({ type: "object" }, GIVEN), null);
});

test("true and false stay true and false where the schema says so", () => {
	const schema = closed({ urgent: { type: "boolean" } });
	const fields = fill(toFields(schema, { urgent: true }), { urgent: false });
	assert.deepEqual(toArguments(fields, { urgent: true }).arguments, { urgent: false });
});
