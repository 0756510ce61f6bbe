import assert from "node:assert/strict";
import { test } from "node:test";
import { joinTurns, turnsBefore } from "../src/lib/joinTurns.ts";
import { buildTurns } from "../src/lib/storedTurns.ts";
import { call, result, said, draftOf } from "./messages.js";

test("a call and its result become one card, in the place of the call", () => {
	const turns = buildTurns([
		said("user", "How many?"),
		call("1", "count", { doctype: "User" }),
		call("2", "count", { doctype: "ToDo" }),
		result("2", "7"),
		result("1", "12"),
		said("agent", "12 and 7"),
	]);
	assert.equal(turns.length, 2);
	const parts = turns[1].parts;
	assert.deepEqual(
		parts.map((part) => [part.type, part.callId, part.result, part.status]),
		[
			["tool", "1", "12", "done"],
			["tool", "2", "7", "done"],
			["text", undefined, undefined, undefined],
		],
	);
	assert.deepEqual(parts[0].arguments, { doctype: "User" });
});

test("a call without a result is unknown, not done", () => {
	assert.equal(buildTurns([call("1", "send", {})])[0].parts[0].status, "unknown");
});

test("a call whose result is no longer stored is unknown, not done", () => {
	assert.equal(buildTurns([call("1", "send", {}), result("1", null)])[0].parts[0].status, "unknown");
});

test("a call without a result is still running while its run is", () => {
	const turn = buildTurns([call("1", "send", {})], { R1: { status: "Started" } })[0];
	assert.equal(turn.parts[0].status, "running");
	assert.equal(turn.outcome, null);
});

test("a run that has said nothing still has its place after its prompt", () => {
	const prompts = [said("user", "one"), said("user", "two", { run: "R2" })];
	const turns = buildTurns(prompts, { R1: { status: "Failed", error: "Refused" }, R2: { status: "Queued" } });
	assert.deepEqual(
		turns.map((turn) => turn.role),
		["user", "agent", "user", "agent"],
	);
	assert.equal(turns[1].error, "Refused");
	assert.equal(turns[3].isOngoing, true);
});

test("what the record says about a result counts before what its text looks like", () => {
	const turns = buildTurns([
		call("1", "a", {}),
		result("1", '{"error": "none"}', { ok: true, duration_ms: 5 }),
	]);
	assert.equal(turns[0].parts[0].status, "done");
	assert.equal(turns[0].parts[0].ms, 5);
});

test("without a word of the record, an error is not taken for a success", () => {
	for (const text of ['{"error": "No permission"}', '{"success": false}', "Error: no such field"]) {
		assert.equal(buildTurns([call("1", "a", {}), result("1", text)])[0].parts[0].status, "failed", text);
	}
});

test("arguments that are no JSON are shown as they are", () => {
	const turn = buildTurns([call("1", "a", {}, { content: "{broken" })])[0];
	assert.equal(turn.parts[0].arguments, "{broken");
	assert.equal(turn.parts[0].tool, "a");
});

test("each run has its own turn, even without a prompt between them", () => {
	const turns = buildTurns([said("agent", "one"), said("agent", "two", { run: "R2" })]);
	assert.deepEqual(
		turns.map((turn) => turn.run),
		["R1", "R2"],
	);
});

test("a stored failure carries its error and its outcome", () => {
	const failed = { status: "Failed", error: "The key was refused." };
	const [, turn] = buildTurns([said("user", "hi"), said("agent", "part")], { R1: failed });
	assert.equal(turn.error, "The key was refused.");
	assert.equal(turn.outcome, failed);
	assert.equal(buildTurns([said("agent", "Cut off", { kind: "Error" })])[0].error, "Cut off");
});

test("a draft takes the place of its call, and one that waits is the newest thing there is", () => {
	const messages = [said("agent", "First", { step: 1 }), call("1", "change", { a: 1 }), result("1", "ok", { ok: true })];
	const [turn] = buildTurns(messages, { R1: { status: "Waiting" } }, [draftOf("2", "Pending"), draftOf("1", "Applied")]);
	assert.deepEqual(
		turn.parts.map((part) => [part.type, part.draft?.draft]),
		[
			["text", undefined],
			["tool", "d1"],
			["tool", "d2"],
		],
	);
	assert.deepEqual([turn.isWaiting, turn.isOngoing, turn.outcome], [true, false, null]);
});

test("what a waiting run has said and done in its step is there again after a reload", () => {
	const step = {
		step: 2,
		model_calls: [{ text: "I change both." }],
		tool_calls: [{ call_id: "2", tool: "change", status: "Success", arguments: '{"a": 2}', result: "ok" }],
	};
	const timeline = { run: { name: "R1" }, steps: [step] };
	const messages = [said("user", "Go"), said("agent", "First", { step: 1 })];
	const drafts = [draftOf("3", "Pending"), draftOf("2", "Applied")];
	const [, turn] = buildTurns(messages, { R1: { status: "Waiting" } }, drafts, timeline);
	assert.deepEqual(
		turn.parts.map((part) => part.text || [part.callId, part.status, part.draft.draft]),
		["First", "I change both.", ["2", "done", "d2"], ["3", "unknown", "d3"]],
	);
	const received = [...messages, said("agent", "I change both.", { step: 2, name: "m" })];
	assert.equal(buildTurns(received, { R1: { status: "Waiting" } }, [], timeline)[1].parts.length, 2);
});

test("answers stand after their own messages, also of messages that were queued", () => {
	const messages = [
		said("user", "First", { sequence: 1 }),
		said("agent", "I look.", { sequence: 2, step: 1 }),
		said("user", "Second", { run: "R2", sequence: 3 }),
		said("agent", "One", { sequence: 4, step: 2 }),
		said("user", "Third", { run: "R3", sequence: 5 }),
		said("agent", "Two", { run: "R2", sequence: 6 }),
		said("agent", "Three", { run: "R3", sequence: 7 }),
	];
	const runs = { R1: { status: "Success" } };
	const told = (turns) => turns.map((turn) => turn.text || turn.parts.map((part) => part.text).join(" "));
	const turns = buildTurns(messages);
	assert.deepEqual(told(turns), ["First", "I look. One", "Second", "Two", "Third", "Three"]);
	assert.deepEqual([turns[1].first, turns[1].last], [2, 4]);
	const [earlier, later] = [buildTurns(messages.slice(0, 3)), buildTurns(messages.slice(3))];
	assert.deepEqual(told(joinTurns(earlier, later)).slice(0, 3), ["First", "I look. One", "Second"]);
	const whole = told(turns);
	for (let border = 1; border < messages.length; border++) {
		const newest = buildTurns(messages.slice(border));
		assert.deepEqual(told(joinTurns(buildTurns(messages.slice(0, border), runs), newest)), whole, `older ${border}`);
		const again = buildTurns(messages.slice(border));
		assert.deepEqual(told(joinTurns(turnsBefore(buildTurns(messages), again), again)), whole, `again ${border}`);
	}
});

test("a message that waits for the run before it is queued, and has no answer yet", () => {
	const messages = [said("user", "First"), said("user", "Second", { run: "R2" })];
	const [first, second] = [{ status: "Waiting", creation: "2026-01-01" }, { status: "Queued", creation: "2026-01-02" }];
	const turns = buildTurns(messages, { R2: second, R1: first });
	assert.deepEqual(
		turns.map((turn) => [turn.role, turn.isQueued ?? null]),
		[["user", false], ["agent", null], ["user", true]],
	);
	const [, , third] = buildTurns(messages, { R1: { status: "Success" }, R2: { status: "Queued" } });
	assert.equal(third.isQueued, false);
});
