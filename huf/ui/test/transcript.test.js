import assert from "node:assert/strict";
import { test } from "node:test";
import {
	answerText,
	applyEvent,
	blocksOf,
	buildTurns,
	joinTurns,
	keepShown,
	markInterrupted,
	newAgentTurn,
	turnsBefore,
} from "../src/lib/transcript.ts";

const call = (id, name, args, more = {}) => ({
	name: `call-${id}`,
	role: "agent",
	kind: "Tool Call",
	content: JSON.stringify({ id, name, arguments: args }),
	tool_name: name,
	tool_call_id: id,
	run: "R1",
	...more,
});
const result = (id, content, more = {}) => ({
	name: `result-${id}`,
	role: "agent",
	kind: "Tool Result",
	content,
	tool_call_id: id,
	run: "R1",
	...more,
});
const said = (role, content, more = {}) => ({
	name: content,
	role,
	kind: "Message",
	content,
	run: "R1",
	...more,
});

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

const draftOf = (id, status, more = {}) => ({ draft: `d${id}`, run: "R1", call_id: id, tool: "change", status, ...more });

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

test("a stream that ends with a draft leaves a turn that waits, one that is queued a turn that goes on", () => {
	const started = ["tool_started", { call_id: "1", tool: "change", arguments: {} }];
	const turn = play([LIVE[0], started, ["draft_created", draftOf("1", "Pending")], ["run_waiting", { run: "R1" }]]);
	assert.deepEqual([turn.isWaiting, turn.outcome, turn.parts[0].draft.draft], [true, null, "d1"]);
	const queued = play([["run_queued", { run: "R1", mode: "Background", tier: 2 }]]);
	assert.deepEqual([queued.isOngoing, queued.mode, queued.tier], [true, "Background", 2]);
});

const at = (sequence, kind, content, more = {}) => ({
	name: `m${sequence}`, sequence, role: "agent", kind, content, run: "r1", step: 1, ...more,
});

test("older messages join those that are shown, and a run on the border is one turn", () => {
	const call = { tool_call_id: "c1", tool_name: "list_todos" };
	const later = buildTurns([at(4, "Tool Result", "[]", { ...call, ok: true }), at(5, "Message", "None.", { step: 2 })], {
		r1: { status: "Success" },
	});
	const question = { name: "m1", sequence: 1, role: "user", kind: "Message", content: "Which?", run: "r1" };
	const earlier = buildTurns([
		question,
		at(2, "Message", "I look."),
		at(3, "Tool Call", '{"name": "list_todos", "arguments": {"limit": 3}}', call),
	]);
	const shown = later[0];
	const [user, agent, ...rest] = joinTurns(earlier, later);
	assert.equal(agent, shown);
	assert.deepEqual([user.text, rest.length, agent.first, agent.last], ["Which?", 0, 2, 5]);
	assert.deepEqual(
		agent.parts.map((part) => part.text || [part.tool, part.arguments.limit, part.status]),
		["I look.", ["list_todos", 3, "done"], "None."],
	);
});

test("what was read again stands behind what is known from before, unless something is missing between", () => {
	const turns = (...places) => places.map((place) => ({ key: `k${place}`, role: "note", first: place, last: place }));
	assert.equal(turnsBefore(turns(1, 2, 3, 4), turns(3, 4, 5)).length, 2);
	assert.equal(turnsBefore(turns(1, 2), turns(3, 4)).length, 2);
	assert.equal(turnsBefore(turns(1, 2), turns(9)).length, 0);
	assert.equal(turnsBefore([], turns(1)).length, 0);
});

test("what was read again keeps its place on the page, and what the reader has opened or begun in it", () => {
	const stored = () => buildTurns([said("user", "Hello", { run: "R1" }), call("1", "look", {}), result("1", "{}")]);
	const [user, agent] = stored();
	Object.assign(user, { key: "u1", rewording: "Good day" });
	agent.key = "a1";
	agent.parts[0].isOpened = true;
	const again = keepShown([user, agent], [...stored(), newAgentTurn("later", "R2")]);
	assert.deepEqual(again.map((turn) => turn.key), ["u1", "a1", "later"]);
	assert.equal(again[0].rewording, "Good day");
	assert.equal(again[1].parts[0].isOpened, true);
});

test("drafts of one turn are one card, of another turn another", () => {
	const turn = newAgentTurn("t", "R1");
	for (const [id, step] of [["1", 1], ["2", 1], ["3", 2]])
		applyEvent(turn, "draft_created", draftOf(id, "Pending", { step, arguments: {}, effect: "write" }));
	const blocks = blocksOf(turn.parts);
	assert.deepEqual(
		blocks.map((block) => block.type === "drafts" ? block.parts.map((part) => part.draft.draft) : block.draft.draft),
		[["d1", "d2"], "d3"],
	);
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
