import assert from "node:assert/strict";
import { test } from "node:test";
import { joinTurns, keepShown, turnsBefore } from "../src/lib/joinTurns.ts";
import { buildTurns } from "../src/lib/storedTurns.ts";
import { newAgentTurn } from "../src/lib/turns.ts";
import { call, result, said } from "./messages.js";

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
