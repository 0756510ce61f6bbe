import assert from "node:assert/strict";
import { test } from "node:test";
import { notices, showError } from "../src/state/notices.ts";

test("an error that occurs again replaces its notice, and dismisses no other", () => {
	for (const message of ["No connection.", "No permission.", "No connection."]) showError({ message });
	assert.deepEqual(
		notices.map((notice) => notice.text),
		["No permission.", "No connection."],
	);
});
