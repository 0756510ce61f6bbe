import assert from "node:assert/strict";
import { test } from "node:test";
import { groupByDay, parseSiteTime } from "../src/lib/time.js";

test("the site's time is read in the site's zone, on both sides of a clock change", () => {
	const iso = (text, zone) => parseSiteTime(text, zone).toISOString();
	assert.equal(iso("2025-01-15 12:00:00.123456", "Europe/Berlin"), "2025-01-15T11:00:00.000Z");
	assert.equal(iso("2025-03-30 03:30:00", "Europe/Berlin"), "2025-03-30T01:30:00.000Z");
	assert.equal(iso("2025-10-26 03:30:00", "Europe/Berlin"), "2025-10-26T02:30:00.000Z");
	assert.equal(iso("2025-06-01 00:00:00", "Asia/Kolkata"), "2025-05-31T18:30:00.000Z");
});

test("what is no time is null", () => {
	assert.equal(parseSiteTime(""), null);
	assert.equal(parseSiteTime(undefined), null);
});

test("conversations are grouped by the reader's days", () => {
	const now = new Date(2025, 4, 20, 0, 30);
	const at = (...when) => ({ at: new Date(2025, ...when) });
	const items = [at(4, 20, 0, 10), at(4, 19, 23, 50), at(4, 14), at(3, 25), at(2, 2)];
	assert.deepEqual(
		groupByDay(items, now).map((group) => group.key),
		["today", "yesterday", "week", "month", "2025-03"],
	);
});
