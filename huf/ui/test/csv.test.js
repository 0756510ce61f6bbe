import assert from "node:assert/strict";
import { test } from "node:test";
import { toCsv } from "../src/lib/csv.ts";

test("signs of CSV are quoted, and numbers are not", () => {
	assert.equal(toCsv([["A, B", 'say "x"', "two\nlines", null, -1.5]]), '"A, B","say ""x""","two\nlines",,-1.5\r\n');
});

test("languages with decimal commas have semicolons between columns", () => {
	assert.equal(toCsv([["A; B", 1.5, "1,5", "a.b"]], "de"), '"A; B";1,5;1,5;a.b\r\n');
	assert.equal(toCsv([["A; B", 1.5, "1,5"]], "en"), 'A; B,1.5,"1,5"\r\n');
});

test("sums have no digits of binary fractions", () => {
	assert.equal(toCsv([[0.1 + 0.2, 2.7149999999999994, 12345678.25]]), "0.3,2.715,12345678.25\r\n");
});

test("text that begins like a formula is none in a spreadsheet", () => {
	for (const text of ["=1+1", "+1", "-1+A1", "-A1", "@SUM(A1)"]) assert.equal(toCsv([[text]]), `'${text}\r\n`);
	assert.equal(toCsv([['=HYPERLINK("x","y")']]), `"'=HYPERLINK(""x"",""y"")"\r\n`);
});

test("negative amounts as text are no formulas", () => {
	for (const text of ["-1", "-12.50", "-1 234.50 €", "-5 %"]) assert.equal(toCsv([[text]]), `${text}\r\n`);
	assert.equal(toCsv([["-1.234,50 €"]]), '"-1.234,50 €"\r\n');
});
