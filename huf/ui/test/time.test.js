import assert from "node:assert/strict";
import { test } from "node:test";
import { formatMoment, millisOf } from "../src/lib/moments.ts";
import { groupByDay, parseSiteTime } from "../src/lib/time.ts";

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

test("near times are short, far ones are not", () => {
	const now = new Date(2025, 4, 20, 12, 0);
	const said = (...when) => formatMoment(new Date(2025, ...when), "en-GB", now);
	assert.equal(said(4, 20, 9, 5), "09:05");
	assert.equal(said(4, 19, 23, 50), "Yesterday 23:50");
	assert.equal(said(4, 21, 9, 0), "Tomorrow 09:00");
	assert.equal(said(4, 23, 9, 0), "Fri 23 May 09:00");
	assert.equal(said(2, 1, 9, 0), "1 Mar 09:00");
	assert.equal(formatMoment(new Date(2024, 2, 1, 9, 0), "en-GB", now), "1 Mar 2024 09:00");
});

test("a time keeps its milliseconds where they are wanted", () => {
	assert.equal(millisOf("2025-01-15 12:00:00.25", "Etc/UTC"), Date.UTC(2025, 0, 15, 12, 0, 0, 250));
	assert.equal(millisOf(null), null);
});
