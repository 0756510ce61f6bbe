import assert from "node:assert/strict";
import { test } from "node:test";
import { buildTurns } from "../src/lib/storedTurns.ts";
import { applyEvent } from "../src/lib/turnEvents.ts";
import { answerText, markInterrupted, newAgentTurn } from "../src/lib/turns.ts";
import { call, result, said, draftOf } from "./messages.js";

const LIVE = [
	["run_started", { run: "R1", conversation: "C1", agent: "Desk", offline: true }],
	["text_delta", { step: 1, text: "Let me " }],
	["text_delta", { step: 1, text: "look." }],
	["tool_started", { step: 1, call_id: "1", tool: "count", effect: "read", arguments: { doctype: "User" } }],
	["tool_finished", { step: 1, call_id: "1", tool: "count", ok: true, result: "12", duration_ms: 4 }],
	["text_delta", { step: 2, text: "There are 12." }],
	["run_finished", { status: "Success", response: "There are 12." }],
];

function play(events) {
	const turn = newAgentTurn("a1");
	events.forEach(([kind, data]) => applyEvent(turn, kind, data));
	return turn;
}

test("a live run ends in the same parts as its stored messages", () => {
	const live = play(LIVE);
	const [stored] = buildTurns([
		said("agent", "Let me look.", { step: 1 }),
		call("1", "count", { doctype: "User" }, { effect: "read", step: 1 }),
		result("1", "12", { ok: true, duration_ms: 4 }),
		said("agent", "There are 12.", { step: 2 }),
	]);
	assert.deepEqual(live.parts, stored.parts);
	assert.equal(answerText(live), "Let me look.\n\nThere are 12.");
	assert.equal(live.offline, true);
});

test("a response that was not streamed is added, one that was is not repeated", () => {
	assert.equal(answerText(play([["run_finished", { status: "Success", response: "Hello" }]])), "Hello");
	const partly = play([
		["text_delta", { step: 1, text: "Hel" }],
		["run_finished", { status: "Success", response: "Hello" }],
	]);
	assert.equal(answerText(partly), "Hello");
});

test("a failed call and a failed run are marked as failed", () => {
	const turn = play([
		LIVE[3],
		[
			"tool_finished",
			{ call_id: "1", tool: "count", ok: false, result: "No permission", error: "No permission" },
		],
		["run_finished", { status: "Failed", error: "Too many failures" }],
	]);
	assert.equal(turn.parts[0].status, "failed");
	assert.equal(turn.error, "Too many failures");
});

test("a call that was running when the run ended or the connection broke is unknown", () => {
	assert.equal(play([LIVE[3], ["run_finished", { status: "Cancelled" }]]).parts[0].status, "unknown");
	const turn = play([LIVE[3]]);
	markInterrupted(turn);
	assert.equal(turn.parts[0].status, "unknown");
});

test("an unknown kind of event changes nothing", () => {
	assert.deepEqual(play([["thought", { text: "hm" }]]), newAgentTurn("a1"));
});

test("a stream that ends with a draft leaves a turn that waits, one that is queued a turn that goes on", () => {
	const started = ["tool_started", { call_id: "1", tool: "change", arguments: {} }];
	const turn = play([LIVE[0], started, ["draft_created", draftOf("1", "Pending")], ["run_waiting", { run: "R1" }]]);
	assert.deepEqual([turn.isWaiting, turn.outcome, turn.parts[0].draft.draft], [true, null, "d1"]);
	const queued = play([["run_queued", { run: "R1", mode: "Background", tier: 2 }]]);
	assert.deepEqual([queued.isOngoing, queued.mode, queued.tier], [true, "Background", 2]);
});
