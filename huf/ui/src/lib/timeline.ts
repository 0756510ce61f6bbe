/** Lays out a run's calls on a time axis, in percent. Pure; reads no clock. */
import type { ModelCall, Run, Step, Timeline, ToolCall } from "../api/types/runs.ts";
import { millisOf } from "./moments.ts";

/** The minimum width, so that a call that has just begun is visible. */
const MIN_RUNNING_PERCENT = 6;

/** One call as a bar: `from` and `to` in ms since 1970, `left` and `width` in percent. */
interface TimelineRow {
	kind: "model" | "tool";
	key: string;
	call: ModelCall | ToolCall;
	from: number;
	to: number;
	isRunning: boolean;
	left: number;
	width: number;
}

interface Advice {
	tone: "danger" | "neutral";
	key: string;
	detail?: string | null;
	reason?: string | null;
}

const ACTIVE = ["Queued", "Started", "Waiting"];

/** Whether a run is in progress, or has not begun. */
export const isActive = (status: string) => ACTIVE.includes(status);
/** Whether it may change at any moment. One that waits for a person changes rarely. */
export const isMoving = (status: string) => isActive(status) && status !== "Waiting";

/** Calls whose worker was lost: their outcome is unknown. */
export function lostCalls(steps: Step[]): ToolCall[] {
	return steps.flatMap((step) => step.tool_calls).filter((call) => call.status === "Unknown");
}

/**
 * {run, steps} -> {total: ms, steps: [{step, rows: [{kind: "model" | "tool", key, call, isRunning, left, width}]}]}
 *
 * A call without a time begins where the one before it ended. One that is still going reaches to the right end.
 */
export function layOut({ run, steps }: Pick<Timeline, "run" | "steps">, zone: string | null = null) {
	const began = millisOf(run.started_at, zone);
	const placed = placeCalls(steps, began, zone);
	const calls = placed.flatMap((step) => step.rows);
	const start = Math.min(...[began, ...calls.map((row) => row.from)].filter((ms) => ms !== null));
	const end = Math.max(
		...[millisOf(run.ended_at, zone), ...calls.map((row) => row.to)].filter((ms) => ms !== null),
	);
	const total = Number.isFinite(end - start) ? Math.max(end - start, 0) : 0;
	const share = (ms: number) => (total ? Math.min(Math.max((ms / total) * 100, 0), 100) : 0);
	for (const row of calls) {
		const left = share(row.from - start);
		row.left = row.isRunning ? Math.min(left, 100 - MIN_RUNNING_PERCENT) : left;
		row.width = row.isRunning ? 100 - row.left : share(row.to - row.from);
	}
	return { total, steps: placed };
}

function placeCalls(steps: Step[], began: number | null, zone: string | null) {
	let clock = began ?? 0;
	const place = (kind: "model" | "tool", call: ModelCall | ToolCall): TimelineRow => {
		const from = millisOf(call.started_at, zone) ?? clock;
		const to = from + (call.duration_ms || 0);
		clock = Math.max(clock, to);
		return { kind, key: call.name, call, from, to, isRunning: call.status === "Started", left: 0, width: 0 };
	};
	return steps.map(({ step, model_calls, tool_calls }) => ({
		step,
		rows: [
			...model_calls.map((call) => place("model", call)),
			...tool_calls.map((call) => place("tool", call)),
		],
	}));
}

/** The most important fact about a failed, stopped or waiting run: {tone, key, detail?, reason?} or null. */
export function adviceOf(run: Run, steps: Step[]): Advice | null {
	if (run.is_blanked) return { tone: "neutral", key: "blanked" };
	if (lostCalls(steps).length) return { tone: "danger", key: "lost" };
	if (run.status === "Failed") return { tone: "danger", key: "failed", detail: run.error };
	if (run.status === "Stopped") return { tone: "neutral", key: "stopped", reason: run.stop_reason };
	if (run.status === "Cancelled") return { tone: "neutral", key: "cancelled" };
	if (run.status === "Queued" || run.status === "Waiting")
		return { tone: "neutral", key: run.status.toLowerCase() };
	return null;
}
