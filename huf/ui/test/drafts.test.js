import assert from "node:assert/strict";
import { test } from "node:test";
import { foldFields, gistOf, headlineOf, isLong, listKeys, readDifference, groupByTurn } from "../src/lib/drafts.ts";

const field = (fieldname, before, after, more = {}) => ({ fieldname, label: "", before, after, ...more });
const change = (action, doctype, name, more = {}) => ({
	action,
	doctype,
	name,
	fields: [],
	rows: [],
	...more,
});
const draft = (changes, more = {}) => ({ tool: "update_order", difference: { changes }, ...more });

test("the document that a draft is about comes first, what happens beside it after it", () => {
	const seen = readDifference(
		draft([change("update", "Customer", "Anna"), change("update", "Order", "O-1")], {
			reference_doctype: "Order",
			reference_name: "O-1",
		}),
	);
	assert.deepEqual(
		seen.changes.map((each) => each.name),
		["O-1", "Anna"],
	);
});

test("a change is rows of label, before and after, and what is provisional is marked", () => {
	const fields = [
		field("note", "old", "new", { label: "Note", main: 1 }),
		field("at", null, "12:00", { provisional: true }),
	];
	const [seen] = readDifference(draft([change("update", "Order", "O-1", { fields, hidden: 2 })])).changes;
	assert.deepEqual(seen.fields, [
		{ key: "note", label: "Note", fieldtype: undefined, before: "old", after: "new", isProvisional: false, isMain: true },
		{ key: "at", label: "at", fieldtype: undefined, before: null, after: "12:00", isProvisional: true, isMain: false },
	]);
	assert.equal(seen.hidden, 2);
});

test("rows of child tables stand together by their table", () => {
	const row = (fieldname, name, action) => ({
		fieldname,
		label: fieldname,
		row: name,
		idx: 1,
		action,
		fields: [field("qty", 1, 2)],
	});
	const rows = [row("lines", "a", "change"), row("taxes", "t", "add"), row("lines", "b", "remove")];
	const [seen] = readDifference(draft([change("update", "Order", "O-1", { rows })])).changes;
	assert.deepEqual(
		seen.tables.map((table) => [table.label, table.rows.map((each) => each.action)]),
		[
			["lines", ["change", "remove"]],
			["taxes", ["add"]],
		],
	);
});

test("a name that is only given when it is done is not shown", () => {
	const [seen] = readDifference(draft([change("create", "Order", "O-7", { provisional: true })])).changes;
	assert.deepEqual([seen.name, seen.isNew], [null, true]);
});

test("of a request the parts that say something are shown", () => {
	const request = { method: "POST", url: "https://shop/orders", headers: {}, body: { item: 1 } };
	assert.deepEqual(readDifference({ difference: { request } }).request, {
		line: "POST https://shop/orders", isUntried: false,
		parts: [{ key: "body", value: { item: 1 } }],
	});
	const call = { tool: "run_code", arguments: { code: "1" } };
	assert.equal(readDifference({ difference: { request: call } }).request.line, "run_code");
});

test("a headline says what is to be done with what", () => {
	const keyOf = (...changes) => headlineOf(draft(changes)).key;
	assert.deepEqual(headlineOf(draft([change("delete", "ToDo", "T-1")])), {
		key: "delete",
		doctype: "ToDo",
		name: "T-1",
	});
	assert.equal(keyOf(change("create", "ToDo", "T-1", { provisional: true })), "create.new");
	assert.equal(keyOf(change("create", "ToDo", "a"), change("create", "ToDo", "b")), "create.many");
	assert.equal(keyOf(change("update", "Order", "a"), change("update", "Customer", "b")), "update");
	assert.deepEqual(headlineOf(draft([])), { key: "tool", tool: "update_order" });
	assert.equal(headlineOf({ tool: "x", difference: null }).key, "tool");
});

test("the gist of a draft is one line of what would be", () => {
	const fields = [field("note", "a", "b\nc", { label: "Note" }), field("qty", 1, null), field("paid", 0, 1)];
	assert.equal(gistOf(draft([change("update", "Order", "O-1", { fields })])), "Note: b c, paid: 1");
	assert.equal(gistOf(draft([change("update", "Order", "O-1", { fields })]), String, 8).length, 8);
	assert.equal(gistOf({ difference: { request: { tool: "x" } } }), "");
});

test("only long texts and those of several lines stand below one another", () => {
	assert.deepEqual(["short", "a\nb", "x".repeat(61), 12, null].map(isLong), [false, true, true, false, false]);
});

test("the changes of one turn stand together in the list", () => {
	const drafts = [{ run: "R1", step: 1 }, { run: "R2", step: 1 }, { run: "R1", step: 1 }, { run: "R1", step: 2 }];
	assert.deepEqual(groupByTurn(drafts).map((turn) => turn.length), [2, 1, 1]);
});

test("a document is called by its title with its name, or by its name alone", () => {
	const titled = (name, title) => headlineOf(draft([change("update", "ToDo", name, { title })])).name;
	assert.equal(titled("2rcgvko6l0", "Call Anna"), "Call Anna (2rcgvko6l0)");
	assert.equal(titled("Anna", "Anna"), "Anna");
	assert.equal(titled("2rcgvko6l0"), "2rcgvko6l0");
});

test("of a new document with many fields, what the call sets and what lists show come first", () => {
	const fields = Array.from({ length: 12 }, (_, n) => ({ key: `f${n}`, isMain: n === 3 }));
	const given = new Set(listKeys({ customer: "Anna", items: [{ f7: 2 }] }));
	const keys = (kind, list) => foldFields(list, kind, given).map((part) => part.map(({ key }) => key));
	assert.deepEqual(keys("add", fields)[0], ["f3", "f7"]);
	assert.equal(keys("add", fields)[1].length, 10);
	assert.equal(keys("change", fields)[0].length, 12);
	assert.equal(keys("add", fields.slice(0, 10))[0].length, 10);
	assert.equal(keys("add", fields.map((each) => ({ ...each, key: `g${each.key}`, isMain: false })))[0].length, 12);
});
