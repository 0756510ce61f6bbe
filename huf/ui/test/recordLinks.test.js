import assert from "node:assert/strict";
import { test } from "node:test";
import { addressOf, byText, patternOf } from "../src/lib/recordLinks.ts";

const record = (name, title = null) => ({ doctype: "ToDo", name, title });

test("a record is found by its name and its title, a title of two records by neither", () => {
	const found = byText([record("T-1", "Call Anna"), record("T-2", "Water"), record("T-3", "Water"), record("Call Anna")]);
	assert.equal(found.get("T-1").name, "T-1");
	assert.equal(found.has("Water"), false);
	assert.equal(found.get("Call Anna").name, "Call Anna");
});

test("every name has an address", () => {
	assert.equal(addressOf(record("50% off? #1/a")), "/huf/records/ToDo/50%25%20off%3F%20%231%2Fa");
});

test("names with signs of regular expressions are found as they are", () => {
	for (const name of ["2026-014", "VIII ZR 271/17", "a.b (c) [d] {e} ^f$ g|h i\\j *+?"]) {
		assert.equal(patternOf(byText([record(name)])).exec(`See ${name}, please`)?.[0], name);
	}
});
