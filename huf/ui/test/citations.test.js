import assert from "node:assert/strict";
import { test } from "node:test";
import { citationsOf, citedIn } from "../src/lib/citations.ts";

const passage = (number, values = {}) => ({ number, title: `T${number}`, position: "page 1", ...values });
const call = (...results) => ({ type: "tool", result: JSON.stringify({ results }) });
const say = (text) => ({ type: "text", text });

test("passages of a search are citations and other results are none", () => {
	assert.deepEqual(citationsOf(call(passage(1))).map((each) => each.title), ["T1"]);
	for (const result of ['{"results": [{"url": "x"}]}', '{"results": 3}', "no json", null, "[1]"])
		assert.deepEqual(citationsOf({ type: "tool", result }), []);
});

test("a result that was cut is cited by its sources", () => {
	const part = { type: "tool", cut: true, result: '{"results": [{"num', sources: [passage(3)] };
	assert.deepEqual(citationsOf(part).map((each) => each.number), [3]);
});

test("only links to pages and files are kept", () => {
	const links = ["javascript:alert(1)", "/api/method/x", "//evil.example", "https://a.example/", "/private/files/a.pdf"];
	const kept = citationsOf(call(...links.map((link, index) => passage(index + 1, { link }))));
	assert.deepEqual(kept.map((each) => each.link), ["", "", "", "https://a.example/", "/private/files/a.pdf"]);
});

test("an answer's sources are the passages whose numbers it says", () => {
	const parts = [call(passage(1), passage(2)), say("First [2], then [4, 1]. Not [3](x)."), call(passage(3), passage(4))];
	assert.deepEqual(citedIn(parts).map((each) => each.number), [1, 2, 4]);
	assert.deepEqual(citedIn([call(passage(1)), say("No sources.")]), []);
});
