/** Applies the events of a stream to the turn of its run. The result has the same shape as stored messages. */
import type { EventData } from "../api/types/conversations.ts";
import type { Draft } from "../api/types/drafts.ts";
import { type AgentTurn, findTool, markInterrupted, newReasoningPart, newToolPart } from "./turns.ts";

/** Applies one event to the agent turn it belongs to. Unknown kinds are ignored: newer servers may send more. */
export function applyEvent(turn: AgentTurn, kind: string, data: EventData): void {
	eventHandlers[kind]?.(turn, data);
}

const eventHandlers: Record<string, (turn: AgentTurn, data: EventData) => unknown> = {
	run_started(turn, data) {
		begin(turn, data);
		if (data.kept_steps !== undefined) dropText(turn, data.kept_steps + 1);
	},
	text_void: (turn, data) => dropText(turn, data.step),
	run_queued: (turn, data) => Object.assign(begin(turn, data), { isOngoing: true }),
	text_delta(turn, data) {
		const last = turn.parts.at(-1);
		if (last?.type === "text" && last.step === data.step) last.text += data.text;
		else turn.parts.push({ type: "text", step: data.step, text: data.text });
	},
	reasoning_delta(turn, data) {
		const last = turn.parts.at(-1);
		if (last?.type === "reasoning" && last.step === data.step) last.text += data.text;
		else turn.parts.push(newReasoningPart(data.step, data.text));
	},
	tool_started(turn, data) {
		if (findTool(turn, data.call_id)) return; // repeated by a run that was resumed
		turn.parts.push({
			...newToolPart(data.call_id, data.tool),
			effect: data.effect,
			arguments: data.arguments,
		});
	},
	tool_finished(turn, data) {
		if (!findTool(turn, data.call_id)) turn.parts.push(newToolPart(data.call_id, data.tool));
		Object.assign(findTool(turn, data.call_id)!, {
			status: data.ok ? "done" : "failed",
			result: data.result ?? null,
			cut: Boolean(data.cut),
			sources: data.sources || null,
			ms: data.duration_ms ?? null,
			error: data.error || null,
		});
	},
	draft_created(turn, data) {
		if (!findTool(turn, data.call_id)) {
			const part = { ...newToolPart(data.call_id, data.tool), arguments: data.arguments };
			turn.parts.push({ ...part, effect: data.effect, status: "unknown" });
		}
		findTool(turn, data.call_id)!.draft = data as unknown as Draft;
	},
	run_waiting: (turn) => Object.assign(turn, { isWaiting: true }),
	run_finished(turn, data) {
		turn.outcome = data;
		if (data.status === "Failed") turn.error = data.error || null;
		markInterrupted(turn);
		if (data.response) completeAnswer(turn, data.response);
	},
};

/** Text and reasoning of this step and later ones are void: the run repeats it. */
function dropText(turn: AgentTurn, step: number): void {
	turn.parts = turn.parts.filter((part) => part.type === "tool" || part.step! < step);
}

function begin(turn: AgentTurn, data: EventData): AgentTurn {
	const { run = null, mode = null, tier = null } = data;
	return Object.assign(turn, { run, mode, tier, offline: Boolean(data.offline) });
}

/** The final response is authoritative: text that the stream left out is added, nothing is repeated. */
function completeAnswer(turn: AgentTurn, response: string): void {
	const answer = response.trim();
	const text = turn.parts.map((part) => (part.type === "text" ? part.text : "")).join("");
	if (text.trim().endsWith(answer)) return;
	const last = turn.parts.at(-1);
	if (last?.type === "text" && answer.startsWith(last.text.trim())) last.text = response;
	else turn.parts.push({ type: "text", step: null, text: response });
}
