import assert from "node:assert/strict";
import { test } from "node:test";
import { t } from "../src/i18n/index.ts";
import { reasonOf } from "../src/runs/figures.ts";

test("a run's reason is the limit in the reader's language, else the site's message without its details", () => {
	const late = { stop_reason: "timeout", error: "The run exceeded its time limit of 600 seconds." };
	assert.equal(reasonOf(late), t("stop.timeout"));
	assert.equal(reasonOf({ stop_reason: "error", error: "The key is wrong.\nDetails: 401" }), "The key is wrong.");
	assert.equal(reasonOf({ stop_reason: null, error: null }), "");
});
