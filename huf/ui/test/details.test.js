import assert from "node:assert/strict";
import { test } from "node:test";
import { splitDetails, toolMessage } from "../src/lib/details.ts";

test("what a library said is told apart from the words for people", () => {
	const error = "The server could not be reached.\nDetails: ssl:default [Connect call failed]";
	assert.deepEqual(splitDetails(error), { text: "The server could not be reached.", details: "ssl:default [Connect call failed]" });
	assert.deepEqual(splitDetails("All in words"), { text: "All in words", details: "" });
	assert.deepEqual(splitDetails(null), { text: "", details: "" });
});

test("a tool's error is shown as its message", () => {
	assert.equal(toolMessage('{"error": "Anna rejected it."}'), "Anna rejected it.");
	for (const other of ["Timed out", '{"error": {"code": 4}}', '{"error": "cut o', '"text"', "null"])
		assert.equal(toolMessage(other), other);
});
