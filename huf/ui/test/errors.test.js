import assert from "node:assert/strict";
import { test } from "node:test";
import { readError, serverMessage } from "../src/api/errors.ts";

const packed = (...texts) => JSON.stringify(texts.map((message) => JSON.stringify({ message })));

test("messages of the site become sentences", () => {
	assert.equal(serverMessage({ _server_messages: packed("Not <b>allowed</b>", "", "No access.<br>Ask") }), "Not allowed. No access. Ask");
	assert.equal(serverMessage({ exception: "frappe.exceptions.ValidationError: Title is missing" }), "Title is missing");
});

test("only tags are taken out of a message", () => {
	assert.equal(serverMessage({ _server_messages: packed("Not like '<', '>', <i>1</i> < 2") }), "Not like '<', '>', 1 < 2");
});

test("the name of an exception is not shown to people", async () => {
	const body = { exc_type: "PermissionError", exception: "frappe.exceptions.PermissionError" };
	const error = await readError(new Response(JSON.stringify(body), { status: 403 }), async () => true);
	assert.deepEqual([error.kind, error.message], ["permission", "You do not have permission for this."]);
});

test("a request that is too large says so, whatever the server answers", async () => {
	const body = { exception: "werkzeug.exceptions.RequestEntityTooLarge: 413 Request Entity Too Large: The data value" };
	for (const text of [JSON.stringify(body), "<html><title>413</title></html>"]) {
		const error = await readError(new Response(text, { status: 413 }), async () => true);
		assert.deepEqual([error.kind, error.message], ["rejected", "This is larger than the site accepts. Send a smaller file or text."]);
	}
});
