import assert from "node:assert/strict";
import { test } from "node:test";
import { formatValue } from "../src/lib/format.ts";

test("dates, amounts and durations of records are shown in the reader's language, and nothing else is changed", () => {
	assert.equal(formatValue("2026-11-27", "Date", "en"), "Nov 27, 2026");
	assert.equal(formatValue("2026-11-27", "Date", "de"), "27.11.2026");
	assert.equal(formatValue("9:05:07.926689", "Time", "de"), "09:05:07");
	assert.equal(formatValue("soon", "Time", "de"), "soon");
	assert.equal(formatValue(1234.5, "Currency", "de"), "1.234,50");
	assert.equal(formatValue(0.123456789, "Float", "en"), "0.123456789");
	assert.equal(formatValue(12.5, "Percent", "en"), "12.5%");
	assert.equal(formatValue("2026-12-24 10:00:00", "Datetime", "en"), "Dec 24, 2026, 10:00:00");
	assert.equal(formatValue("2026-12-24 10:00:00.5", "Datetime", "en"), "2026-12-24 10:00:00.5");
	assert.equal(formatValue("2026-03-29 02:30:00", "Datetime", "en"), "Mar 29, 2026, 02:30:00");
	for (const wrong of ["2026-02-30 10:00:00", "2026-13-01 10:00:00"])
		assert.equal(formatValue(wrong, "Datetime", "en"), wrong);
	assert.equal(formatValue("2026-02-30", "Date", "en"), "2026-02-30");
	assert.equal(formatValue(93605, "Duration", "en"), "1 d 2 h 5 s");
	assert.equal(formatValue(0, "Duration", "en"), "0 s");
	assert.equal(formatValue("today", "Date", "en"), "today");
	assert.equal(formatValue(2026, "Int", "en"), "2026");
	assert.equal(formatValue("1234.5", "Data", "en"), "1234.5");
});
