import assert from "node:assert/strict";
import { test } from "node:test";
import { loadOtherTexts, t } from "../src/i18n/index.ts";
import { reasonOf, usageOf } from "../src/runs/figures.ts";

test("a run's reason is the limit in the reader's language, else the site's message without its details", () => {
	const late = { stop_reason: "timeout", error: "The run exceeded its time limit of 600 seconds." };
	assert.equal(reasonOf(late), t("stop.timeout"));
	assert.equal(reasonOf({ stop_reason: "error", error: "The key is wrong.\nDetails: 401" }), "The key is wrong.");
	assert.equal(reasonOf({ stop_reason: null, error: null }), "");
});

test("the usage of a run or call names tokens and costs, unless no model was called", async () => {
	await loadOtherTexts();
	assert.equal(usageOf({ input_tokens: 1000, output_tokens: 234, total_cost: null }), "1,234 tokens · cost unknown");
	assert.equal(usageOf({ input_tokens: 1000, output_tokens: 234, total_cost: 0.5 }), "1,234 tokens · $0.50");
	assert.equal(usageOf({ input_tokens: 9, output_tokens: 1, cost: 0.5 }), "10 tokens · $0.50");
	assert.equal(usageOf({ input_tokens: 0, output_tokens: 0, total_cost: null }), "");
});
