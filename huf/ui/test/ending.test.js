import assert from "node:assert/strict";
import { test } from "node:test";
import { endingOf } from "../src/lib/ending.ts";
import { buildTurns } from "../src/lib/storedTurns.ts";
import { applyEvent } from "../src/lib/turnEvents.ts";
import { newAgentTurn } from "../src/lib/turns.ts";

const LIMIT = "The limit of 5 USD for the agent Ann leaves too little for another answer: 4.9990 USD spent.";
const ended = (data, text = "") => {
	const turn = newAgentTurn("t1", "R1");
	if (text) applyEvent(turn, "text_delta", { step: 1, text });
	applyEvent(turn, "run_finished", { response: text, ...data });
	return endingOf(turn);
};

test("a budget stop names its limit, and no partial answer where there is none", () => {
	const { kind, detail, isPartial } = ended({ status: "Stopped", stop_reason: "money_budget", error: LIMIT });
	assert.deepEqual({ kind, detail, isPartial }, { kind: "stopped", detail: LIMIT, isPartial: false });
	assert.equal(ended({ status: "Stopped", stop_reason: "money_budget", error: LIMIT }, "Half").isPartial, true);
});

test("a stored run that a limit stopped is stopped, not failed", () => {
	const error = { name: "m2", role: "system", kind: "Error", content: LIMIT, run: "R1" };
	const [turn] = buildTurns([error], { R1: { status: "Stopped", stop_reason: "money_budget", error: LIMIT } });
	assert.equal(endingOf(turn).kind, "stopped");
});

test("the warning at the step limit alone is no answer", () => {
	const warning = "[WARNING: Max steps (8) reached. Response may be incomplete.]";
	assert.equal(ended({ status: "Stopped", stop_reason: "max_steps" }, warning).isPartial, false);
	assert.equal(ended({ status: "Stopped", stop_reason: "max_steps" }, `${warning}\n\nTwo.`).isPartial, true);
});

test("a run that used up its steps or its time can go on, others cannot", () => {
	const canGoOn = (reason) => ended({ status: "Stopped", stop_reason: reason }).canGoOn;
	assert.deepEqual(["max_steps", "timeout", "money_budget"].map(canGoOn), [true, true, false]);
	assert.equal(ended({ status: "Success" }).kind, null);
	assert.equal(ended({ status: "Failed", error: "Out of order." }).kind, "failed");
});
