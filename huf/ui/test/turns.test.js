import assert from "node:assert/strict";
import { test } from "node:test";
import { applyEvent } from "../src/lib/turnEvents.ts";
import { blocksOf, hasActed, newAgentTurn, newToolPart } from "../src/lib/turns.ts";
import { draftOf } from "./messages.js";

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

test("an answer has acted if a change was made, not if it was read, failed or rejected", () => {
	const acted = (part) => hasActed({ ...newAgentTurn("t"), parts: [{ ...newToolPart("1", "tool"), ...part }] });
	assert.equal(acted({ effect: "write", status: "done" }), true);
	assert.equal(acted({ effect: "external", status: "unknown" }), true);
	assert.equal(acted({ effect: "write", status: "done", draft: draftOf("1", "Applied") }), true);
	assert.equal(acted({ effect: "read", status: "done" }), false);
	assert.equal(acted({ effect: "write", status: "failed" }), false);
	assert.equal(acted({ effect: "write", status: "done", draft: draftOf("1", "Rejected") }), false);
});
