import assert from "node:assert/strict";
import { test } from "node:test";
import { adviceOf, isActive, isMoving, layOut, lostCalls } from "../src/lib/timeline.ts";

const DAY = "2025-03-01 10:00:";
const model = (name, second, ms, rest) => ({
	name,
	started_at: DAY + second,
	duration_ms: ms,
	status: "Success",
	...rest,
});
const run = { started_at: `${DAY}00`, ended_at: `${DAY}10` };
const oneStep = (...calls) => [{ step: 1, model_calls: calls, tool_calls: [] }];
const rowsOf = (layout) => layout.steps.flatMap((step) => step.rows);

test("calls lie on the run's time to scale, to the millisecond", () => {
	const steps = [
		{ step: 1, model_calls: [model("m1", "00.500000", 2000)], tool_calls: [model("t1", "02.500000", 500)] },
		{ step: 2, model_calls: [model("m2", "09", 1000)], tool_calls: [] },
	];
	const layout = layOut({ run, steps }, "Europe/Berlin");
	assert.equal(layout.total, 10_000);
	assert.deepEqual(
		rowsOf(layout).map(({ kind, left, width }) => [kind, left, width]),
		[
			["model", 5, 20],
			["tool", 25, 5],
			["model", 90, 10],
		],
	);
});

test("a call that is still going reaches to the end and can be seen, even if it has just begun", () => {
	const steps = oneStep(model("m1", "00", 4000), model("m2", "04", null, { status: "Started" }));
	const [, last] = rowsOf(layOut({ run: { ...run, ended_at: null }, steps }));
	assert.deepEqual([last.isRunning, last.left, last.width], [true, 94, 6]);
});

test("a call without a time begins where the one before it ended", () => {
	const steps = oneStep(model("m1", "00", 5000), { name: "m2", duration_ms: 5000, status: "Success" });
	assert.deepEqual(
		rowsOf(layOut({ run, steps })).map((row) => row.left),
		[0, 50],
	);
});

test("a run of which nothing is on record has no length", () => {
	assert.deepEqual(layOut({ run: {}, steps: [] }), { total: 0, steps: [] });
	const [row] = rowsOf(layOut({ run: {}, steps: oneStep({ name: "m1", status: "Success" }) }));
	assert.deepEqual([row.left, row.width], [0, 0]);
});

test("a lost call is the first thing to know, even of a run that ended well", () => {
	const steps = [{ step: 1, model_calls: [], tool_calls: [{ name: "t1", status: "Unknown" }] }];
	assert.deepEqual(
		lostCalls(steps).map((call) => call.name),
		["t1"],
	);
	assert.equal(adviceOf({ status: "Success" }, steps).key, "lost");
	assert.equal(adviceOf({ status: "Success" }, []), null);
	assert.equal(adviceOf({ status: "Failed", is_blanked: true }, steps).key, "blanked");
	assert.deepEqual(adviceOf({ status: "Failed", error: "No key" }, []), {
		tone: "danger",
		key: "failed",
		detail: "No key",
	});
});

test("only runs that may still change are followed", () => {
	const statuses = ["Queued", "Started", "Waiting", "Success", "Stopped", "Failed", "Cancelled"];
	assert.deepEqual(statuses.filter(isActive), ["Queued", "Started", "Waiting"]);
	assert.deepEqual(statuses.filter(isMoving), ["Queued", "Started"]);
});
