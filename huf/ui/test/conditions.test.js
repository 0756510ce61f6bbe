import assert from "node:assert/strict";
import { test } from "node:test";
import { isIncomplete, isUnreadable, operatorsOf, readCondition, writeCondition } from "../src/lib/conditions.ts";

const row = (field, operator, value = "") => ({ field, operator, value });
const ROWS = [
	[row("status", "is", "Open"), "doc.status == 'Open'"],
	[row("status", "is_not", "It's \\ \"so\"\nand new"), "doc.status != 'It\\'s \\\\ \"so\"\\nand new'"],
	[row("qty", "is", "3"), "doc.qty == 3"],
	[row("amount", "above", "100.5"), "(doc.amount or 0) > 100.5"],
	[row("amount", "at_least", "-1"), "(doc.amount or 0) >= -1"],
	[row("amount", "below", "7"), "(doc.amount or 0) < 7"],
	[row("amount", "at_most", "7"), "(doc.amount or 0) <= 7"],
	[row("subject", "contains", "rock and roll"), "'rock and roll' in (doc.subject or '')"],
	[row("date", "set"), "doc.date"],
	[row("date", "unset"), "not doc.date"],
	[row("status", "changed"), "doc.has_value_changed('status')"],
];

test("each operator is written as Python and read back", () => {
	for (const [one, text] of ROWS) {
		assert.equal(writeCondition([one]), text);
		assert.deepEqual(readCondition(text), [one]);
	}
});

test("numbers are written and shown as their reader writes them", () => {
	for (const [one, text] of [
		[row("amount", "above", "1,125"), "(doc.amount or 0) > 1.125"],
		[row("amount", "is", "0,5"), "doc.amount == 0.5"],
		[row("code", "is", "0.5"), "doc.code == '0.5'"],
	]) {
		assert.equal(writeCondition([one], (field) => (field === "code" ? "Data" : "Currency"), "de"), text);
		assert.deepEqual(readCondition(text, "de"), [one]);
	}
	assert.ok(isUnreadable(row("amount", "above", "1.500"), "Currency", "de"));
	assert.ok(isIncomplete(row("amount", "above", "1.500"), "Currency", "de"));
});

test("all rows together are joined by and", () => {
	const rows = ROWS.map(([one]) => one);
	assert.deepEqual(readCondition(writeCondition(rows)), rows);
	assert.deepEqual(readCondition(""), []);
	assert.equal(writeCondition([]), "");
});

test("what a person writes in another way is read as well", () => {
	assert.deepEqual(readCondition('doc.a=="x"  and doc.b > 2 and "y" in doc.c'), [
		row("a", "is", "x"),
		row("b", "above", "2"),
		row("c", "contains", "y"),
	]);
});

test("more than rows can say stays Python", () => {
	const texts = ["doc.a == 1 or doc.b", "doc.a.b", "doc.a == doc.b", "len(doc.items) > 1", "now.day < 8", "doc.a == 'x", "(doc.a)", "doc.a == None", "doc.a != ''", 'doc.a == "" and doc.b > 2', "'' in doc.a"];
	for (const text of texts) assert.equal(readCondition(text), null, text);
});

test("a number is written as text where the field holds text", () => {
	assert.equal(writeCondition([row("zip", "is", "01234")], () => "Data"), "doc.zip == '01234'");
	assert.equal(writeCondition([row("qty", "is", "5")], () => "Int"), "doc.qty == 5");
});

test("rows that lack something are left out", () => {
	assert.equal(writeCondition([row("", "is", "x"), row("a", "is"), row("b", "above", "much"), row("c; d", "set")]), "");
});

test("a date is only looked at for being there or changed", () => {
	assert.deepEqual(operatorsOf("Date"), ["set", "unset", "changed"]);
	assert.ok(operatorsOf("Currency").includes("above") && !operatorsOf("Data").includes("above"));
});

test("a row whose number cannot be read is incomplete, and never part of another condition", () => {
	for (const [operator, fieldtype] of [["above", ""], ["at_most", "Currency"], ["is", "Int"], ["is_not", "Float"]]) {
		for (const value of ["1,50", "1.234,50", "many"]) {
			const one = row("amount", operator, value);
			assert.equal(writeCondition([one], () => fieldtype), "");
			assert.deepEqual([isIncomplete(one, fieldtype), isUnreadable(one, fieldtype)], [true, true]);
		}
	}
	for (const one of [row("", "is"), row("amount", "above", "1.50"), row("note", "is", "1,50"), row("note", "set")]) assert.equal(isIncomplete(one), false);
	for (const one of [row("", "is", "x"), row("amount", "above"), row("note", "contains")]) {
		assert.deepEqual([isIncomplete(one), isUnreadable(one)], [true, false]);
	}
});
