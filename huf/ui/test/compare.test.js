import assert from "node:assert/strict";
import { test } from "node:test";
import { pairStep } from "../src/lib/compare.ts";

const call = (tool, given, result, status = "Success") => ({ tool, arguments: given, result, status });
const side = (text, ...calls) => ({ model_calls: [{ text }], tool_calls: calls });
const marksOf = ({ tool, arguments: given, result }) => [tool, given, result];

test("spaces and the order of fields make no difference", () => {
	const left = side("Hi", call("get", '{"a": 1, "b": {"d": 2, "c": 3}}', "[1, 2]"));
	const right = side("Hi", call("get", '{"b":{"c":3,"d":2},"a":1}', "[1,2]"));
	const step = pairStep({ left, right });
	assert.equal(step.text, false);
	assert.deepEqual(step.calls.map(marksOf), [[false, false, false]]);
});

test("what differs is named: words, tool, arguments or result", () => {
	const left = side("Hi", call("get", '{"a":1}', "1"), call("get", "{}", "1"), call("get", "{}", "1"));
	const right = side(
		"Hello",
		call("get", '{"a":2}', "1"),
		call("list", "{}", "1"),
		call("get", "{}", "1", "Failed"),
	);
	const step = pairStep({ left, right });
	assert.equal(step.text, true);
	assert.deepEqual(step.calls.map(marksOf), [
		[false, true, false],
		[true, false, false],
		[false, false, true],
	]);
});

test("a call that one side does not have stands alone, and so does a whole side", () => {
	const left = side("", call("get", "{}", "1"));
	assert.deepEqual(pairStep({ left, right: side("") }).calls, [
		{ left: left.tool_calls[0], right: null, tool: true, arguments: false, result: false },
	]);
	assert.equal(pairStep({ left, right: null }).calls.length, 1);
});
