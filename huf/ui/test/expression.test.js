import assert from "node:assert/strict";
import { test } from "node:test";
import { evaluate } from "../src/lib/expression.ts";

const DOC = { kind: "Web", count: 2, tags: ["a", "b"], empty: "", row: { price: 1.5 }, zero: 0, missing: null };
const VALUES = [
	["doc.kind=='Web'", true],
	['doc.kind === "Shop" || doc.count >= 2', true],
	["doc.kind != 'Web' && doc.kind", false],
	["!doc.empty && !doc.unknown", true],
	["doc.count * 3 - 1 > doc.row.price + 2", true],
	["1 + 2 * 3 % 4 - -1", 4],
	["doc.zero ?? 5", 0],
	["doc.missing ?? 'x'", "x"],
	["doc.count > 1 ? 'many' : doc.count ? 'one' : 'none'", "many"],
	["['Web', \"Shop\"].includes(doc.kind)", true],
	["in_list(['Web', 'Shop'], doc.kind)", true],
	["in_list([], doc.kind)", false],
	["doc['kind'].toLowerCase().startsWith('we')", true],
	["doc.tags.length == 2 && doc.tags[1] == 'b'", true],
	["doc.tags.indexOf('z') == -1", true],
	["doc.nothing?.length", undefined],
	["cint('7') + flt('1.5')", 8.5],
	["'kind' in doc", true],
	["'it\\'s' + .5", "it's0.5"],
	["true && null == undefined", true],
];
const REFUSED = [
	"",
	"doc.kind = 'x'",
	"alert(1)",
	"window.location",
	"frappe.boot.user",
	"doc.constructor('return this')()",
	"''.constructor.constructor('return 1')()",
	"doc.missing.length",
	"doc.tags.map(x => x)",
	"doc.tags.push('c')",
	"/a/.test(doc.kind)",
	"`${doc.kind}`",
	"new Date()",
	"doc.kind; 1",
	"(doc.kind",
	"[1, 2",
	"1 +",
	"doc.",
	"'open",
	"(".repeat(5000) + "1" + ")".repeat(5000),
	"!".repeat(50000) + "1",
];

test("expressions have the values that JavaScript gives them", () => {
	const scope = "cint = Math.trunc, flt = Number, in_list = (list, value) => list.includes(value)";
	for (const [text, value] of VALUES) {
		assert.equal(evaluate(text, { doc: DOC }), value, text);
		assert.equal(new Function("doc", scope, `return (${text});`)(DOC), value, text);
	}
});

test("what is not a condition's expression throws", () => {
	for (const text of REFUSED) assert.throws(() => evaluate(text, { doc: DOC }), Error, text.slice(0, 50));
});

test("nothing that a value inherits is reached", () => {
	for (const name of ["constructor", "__proto__", "toString"]) {
		assert.equal(evaluate(`doc.${name}`, { doc: DOC }), undefined);
		assert.equal(evaluate(`doc["${name}"]`, { doc: DOC }), undefined);
	}
	assert.throws(() => evaluate("constructor", { doc: DOC }), ReferenceError);
	assert.throws(() => evaluate("toString()", { doc: DOC }), ReferenceError);
});
