import assert from "node:assert/strict";
import { beforeEach, mock, test } from "node:test";
import { deleteLater, deletions, isShown, sendDeletions, startDeletion, undoDeletion, UNDO_MS } from "../src/state/deletions.ts";
import { notices } from "../src/state/notices.ts";

const settle = () => new Promise((resolve) => setImmediate(resolve));
let sent = [];
const remove = (name, send = async () => sent.push(name)) => deleteLater({ doctype: "Agent", name, send });

beforeEach(() => {
	sent = [];
	deletions.splice(0);
	notices.splice(0);
	mock.timers.enable({ apis: ["setTimeout"] });
});

test("a record is hidden at once and deleted when the time is over", async (context) => {
	context.after(() => mock.timers.reset());
	remove("a");
	assert.deepEqual([isShown("Agent")({ name: "a" }), isShown("Agent")({ name: "b" }), isShown("ToDo")({ name: "a" })], [false, true, true]);
	mock.timers.tick(UNDO_MS - 1);
	assert.deepEqual(sent, []);
	mock.timers.tick(1);
	await settle();
	assert.deepEqual([sent, deletions.length], [["a"], 0]);
});

test("what is taken back is never sent", async (context) => {
	context.after(() => mock.timers.reset());
	remove("a");
	remove("a");
	assert.equal(deletions.length, 1);
	const [deletion] = deletions;
	undoDeletion(deletion);
	startDeletion(deletion);
	assert.ok(isShown("Agent")({ name: "a" }));
	mock.timers.tick(2 * UNDO_MS);
	await sendDeletions();
	assert.deepEqual(sent, []);
});

test("a page that is left sends what still waits, once", async (context) => {
	context.after(() => mock.timers.reset());
	remove("a");
	remove("b");
	await Promise.all([sendDeletions(), sendDeletions()]);
	mock.timers.tick(2 * UNDO_MS);
	await settle();
	assert.deepEqual(sent, ["a", "b"]);
});

test("what the site refuses is shown again with the reason; what is gone already is no error", async (context) => {
	context.after(() => mock.timers.reset());
	remove("a", () => Promise.reject({ kind: "server", message: "It is linked" }));
	remove("b", () => Promise.reject({ kind: "missing", message: "Gone" }));
	await sendDeletions();
	assert.ok(isShown("Agent")({ name: "a" }));
	assert.deepEqual(notices.map(({ text }) => text), ["It is linked"]);
});
