/** Builds the turns of a conversation from its stored messages, so that a reload shows the same as the live run. */
import type { Message } from "../api/types/conversations.ts";
import type { Draft } from "../api/types/drafts.ts";
import type { Run, Step, Timeline } from "../api/types/runs.ts";
import { parseJson } from "./json.ts";
import {
	addTurn,
	type AgentTurn,
	findAgentTurn,
	findTool,
	isAgentTurn,
	isOver,
	newAgentTurn,
	newReasoningPart,
	newToolPart,
	newUserTurn,
	type Part,
	replaceStatus,
	type ToolPart,
	type Turn,
	type UserTurn,
} from "./turns.ts";

/**
 * Stored messages (oldest first) and, where the server knows them, runs {name: outcome} -> turns. `drafts` are those of the
 * conversation, newest first. `timeline`: of a run that has not ended, because a step is said only when it is whole.
 */
export function buildTurns(
	messages: Message[],
	runs: Record<string, Run> = {},
	drafts: Draft[] = [],
	timeline: Timeline | null = null,
): Turn[] {
	const turns: Turn[] = [];
	for (const message of messages) {
		let turn: Turn;
		if (message.role === "user") turns.push((turn = storedUserTurn(message)));
		else if (message.role === "system" && message.kind === "Message") {
			turns.push((turn = { key: message.name, role: "note", text: message.content, first: null, last: null }));
		} else addStored((turn = agentTurnFor(turns, message)), message);
		const { sequence = null } = message;
		turn.first ??= sequence;
		turn.last = sequence;
	}
	const whole = withSilentRuns(turns, runs);
	const inLine = runsInLine(runs);
	for (const turn of whole) if (turn.role === "user") turn.isQueued = inLine.has(turn.run!);
	for (const turn of whole.filter(isAgentTurn)) {
		if (timeline && turn.run === timeline.run.name) addBegunStep(turn, timeline.steps, messages);
		closeStored(turn, runs[turn.run!]);
		for (const draft of drafts.toReversed()) if (draft.run === turn.run) addDraft(turn, draft);
	}
	return whole.filter((turn) => !isAgentTurn(turn) || !inLine.has(turn.run!));
}

function storedUserTurn(message: Message): UserTurn {
	const { creation: at = null, run, author, attachments = [] } = message;
	return newUserTurn(message.content, message.name, { at, run: run || null, author, attachments });
}

/** A run without output (yet, or because it failed at once) still has a turn after its prompt. */
function withSilentRuns(turns: Turn[], runs: Record<string, Run>): Turn[] {
	const heard = new Set(turns.filter(isAgentTurn).map((turn) => turn.run));
	const isSilent = (turn: Turn) => turn.role === "user" && runs[turn.run!] && !heard.has(turn.run);
	return turns.flatMap((turn) =>
		isSilent(turn) ? [turn, newAgentTurn(`run-${turn.run}`, turn.run!)] : [turn],
	);
}

function agentTurnFor(turns: Turn[], message: Message): AgentTurn {
	const last = turns.at(-1);
	if (last?.role === "agent" && (!last.run || !message.run || last.run === message.run)) return last;
	const run = message.run || null;
	const known = findAgentTurn(turns, run);
	if (known) return known;
	const turn = newAgentTurn(message.name, run);
	addTurn(turns, turn);
	return turn;
}

function addStored(turn: AgentTurn, message: Message): void {
	if (message.reasoning) turn.parts.push(newReasoningPart(message.step, message.reasoning));
	if (message.kind === "Tool Call") addStoredCall(turn, message);
	else if (message.kind === "Tool Result") addStoredResult(turn, message);
	else if (message.kind === "Error") turn.error = message.content;
	else if (message.content) turn.parts.push({ type: "text", step: message.step, text: message.content });
}

function addStoredCall(turn: AgentTurn, message: Message): void {
	const call = parseJson(message.content);
	const isObject = call && typeof call === "object";
	turn.parts.push({
		...newToolPart(message.tool_call_id!, message.tool_name || (isObject && call.name)),
		effect: message.effect || null,
		arguments: isObject && "arguments" in call ? call.arguments : (call ?? message.content),
		status: "unknown",
	});
}

function addStoredResult(turn: AgentTurn, message: StoredResult): void {
	let part = findTool(turn, message.tool_call_id!);
	if (!part) {
		part = newToolPart(message.tool_call_id!, message.tool_name);
		turn.parts.push(part);
	}
	part.status = statusOf(message);
	part.result = message.content;
	part.error = message.error || null;
	part.ms = message.duration_ms ?? null;
	part.effect = part.effect || message.effect || null;
}

/** If the run has been deleted, only the result shows whether the call failed; if that was blanked too, nothing does. */
function statusOf({ ok, content }: StoredResult): ToolPart["status"] {
	if (typeof ok === "boolean") return ok ? "done" : "failed";
	if (content === undefined || content === null) return "unknown";
	return looksFailed(content) ? "failed" : "done";
}

type StoredResult = Pick<Message, "tool_call_id" | "tool_name" | "content" | "ok" | "error" | "duration_ms" | "effect">;

/** Text and calls of the step in progress. */
function addBegunStep(turn: AgentTurn, steps: Step[], messages: Message[]): void {
	const begun = steps.at(-1);
	if (!begun?.step) return;
	const { step, model_calls: modelCalls, tool_calls: toolCalls } = begun;
	if (messages.some((message) => message.run === turn.run && message.step === step)) return;
	const { text, reasoning } = modelCalls.at(-1) || {};
	if (reasoning) turn.parts.push(newReasoningPart(step, reasoning));
	if (text) turn.parts.push({ type: "text", step, text });
	for (const call of toolCalls) {
		const given = parseJson(call.arguments) ?? call.arguments;
		turn.parts.push({ ...newToolPart(call.call_id, call.tool), arguments: given, status: "unknown" });
		if (call.status !== "Started" && call.status !== "Unknown")
			addStoredResult(turn, {
				...call,
				tool_call_id: call.call_id,
				content: call.result || "",
				ok: call.status === "Success",
			});
	}
}

/** A draft replaces its call; one whose call has not been made yet is the newest part. */
function addDraft(turn: AgentTurn, draft: Draft): void {
	const isOwn = (part: Part): part is ToolPart =>
		part.type === "tool" && part.callId === draft.call_id && !part.draft;
	let part = turn.parts.find(isOwn);
	if (!part) {
		part = { ...newToolPart(draft.call_id, draft.tool), arguments: draft.arguments, status: "unknown" };
		turn.parts.push(part);
	}
	part.effect ||= draft.effect;
	part.draft = draft;
}

function closeStored(turn: AgentTurn, run: Run | undefined): void {
	if (!run) return;
	Object.assign(turn, { offline: Boolean(run.offline), mode: run.mode || null, tier: run.tier || null });
	if (isOver(run.status)) turn.outcome = run;
	else if (run.status === "Waiting") turn.isWaiting = true;
	else {
		turn.isOngoing = true;
		replaceStatus(turn, "unknown", "running");
	}
	if (run.status === "Failed") turn.error = turn.error || run.error || null;
}

/** Runs that wait for the one before them. JSON does not keep their order. */
function runsInLine(runs: Record<string, Run>): Set<string> {
	const byCreation = ([, a]: [string, Run], [, b]: [string, Run]) => (a.creation < b.creation ? -1 : 1);
	const open = Object.entries(runs)
		.filter(([, run]) => !isOver(run.status))
		.sort(byCreation);
	return new Set(open.slice(1).filter(([, run]) => run.status === "Queued").map(([name]) => name));
}

/** Older records lack the status of a call; a failure must not pass for a success. */
function looksFailed(content: string): boolean {
	const value = parseJson(content);
	if (value && typeof value === "object") {
		return Boolean(value.error) || value.success === false || value.ok === false;
	}
	return /^(error|traceback)\b/i.test(String(content ?? "").trim());
}
