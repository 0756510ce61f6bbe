/**
 * Builds what the thread shows: a list of turns. Stored messages and live stream events end in the same shapes, so that a
 * reload looks like the run did. Pure: no fetch, no Vue, no clock.
 */
import type { Attachment, EventData, Message } from "../api/types/conversations.ts";
import type { Draft } from "../api/types/drafts.ts";
import type { Run, Step, Timeline } from "../api/types/runs.ts";
import type { Passage } from "../api/types/setup.ts";
import type { Effect, Json } from "../api/types/values.ts";

/** The places of a turn's first and last message in the conversation; null where they are not known. */
interface Places {
	first: number | null;
	last: number | null;
}

export interface TextPart {
	type: "text";
	step: number | null | undefined;
	text: string;
}

/** What a model thought before it answered, where it gives that. */
export interface ReasoningPart {
	type: "reasoning";
	step: number | null | undefined;
	text: string;
	isOpened: boolean | null;
}

export interface ToolPart {
	type: "tool";
	callId: string;
	tool: string;
	effect: Effect | null;
	arguments: Json;
	/** unknown: no result is on record */
	status: "running" | "done" | "failed" | "unknown";
	result: string | null;
	cut: boolean;
	/** Of a result that was cut. */
	sources: Passage[] | null;
	ms: number | null;
	error: string | null;
	/** What a person is asked about the call. */
	draft: Draft | null;
	/** As the reader has chosen. */
	isOpened: boolean | null;
}

export type Part = TextPart | ReasoningPart | ToolPart;

export interface UserTurn extends Places {
	key: string;
	role: "user";
	run: string | null;
	text: string;
	attachments: Attachment[];
	at: Date | string | null;
	unsent: "refused" | "unsure" | null;
	/** The text in which the reader is about to send it again. */
	rewording: string | null;
	/** It waits until the run before it has ended. */
	isQueued: boolean;
}

export interface NoteTurn extends Places {
	key: string;
	role: "note";
	text: string;
	run?: undefined;
}

export interface AgentTurn extends Places {
	key: string;
	role: "agent";
	run: string | null;
	parts: Part[];
	/** null while it is running or unknown */
	outcome: Partial<Run> | null;
	error: string | null;
	offline: boolean;
	mode: string | null;
	tier: number | null;
	/** The run goes on without this page. */
	isOngoing: boolean;
	/** The run waits for a person. */
	isWaiting: boolean;
}

export type Turn = UserTurn | NoteTurn | AgentTurn;

export function newUserTurn(
	text: string,
	key: string,
	{ at = null, run = null, attachments = [] }: Partial<Pick<UserTurn, "at" | "run" | "attachments">> = {},
): UserTurn {
	const state = { unsent: null, first: null, last: null, rewording: null, isQueued: false };
	return { key, role: "user", run, text, attachments, at, ...state };
}

export function newAgentTurn(key: string, run: string | null = null): AgentTurn {
	const state = { offline: false, mode: null, tier: null, isOngoing: false, isWaiting: false };
	return { key, role: "agent", run, parts: [], outcome: null, error: null, first: null, last: null, ...state };
}

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
		if (message.role === "user") turns.push(storedUserTurn(message));
		else if (message.role === "system" && message.kind === "Message") {
			turns.push({ key: message.name, role: "note", text: message.content, first: null, last: null });
		} else addStored(agentTurnFor(turns, message), message);
		const { sequence = null } = message;
		const turn = turns.at(-1)!;
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

/**
 * Turns of an earlier part of a conversation before those of a later one. A run that lies on the border is one turn: what
 * both know of it is not repeated. Those of the later part stay the objects they are.
 */
export function joinTurns(earlier: Turn[], later: Turn[]): Turn[] {
	const [before, after] = [earlier.at(-1), later[0]];
	if (before?.role !== "agent" || after?.role !== "agent" || !before.run || before.run !== after.run)
		return [...earlier, ...later];
	after.parts = joinParts(before.parts, after.parts);
	after.first = before.first ?? after.first;
	return [...earlier.slice(0, -1), ...later];
}

function joinParts(earlier: Part[], later: Part[]): Part[] {
	const isSame = (one: Part, other: Part) =>
		one.type === "tool"
			? other.type === "tool" && one.callId === other.callId
			: other.type === one.type && one.step === other.step && one.text === other.text;
	const rest = [...later];
	const joined = earlier.map((part) => {
		const at = rest.findIndex((other) => isSame(part, other));
		if (at < 0) return part;
		const [known] = rest.splice(at, 1);
		if (part.type !== "tool" || known.type !== "tool") return known;
		return { ...known, arguments: part.arguments, effect: part.effect || known.effect };
	});
	return [...joined, ...rest];
}

/** What is known already of the part of a conversation before `turns`, if nothing is missing between. */
export function turnsBefore(known: Turn[], turns: Turn[]): Turn[] {
	const start = turns[0]?.first;
	const earlier = start ? known.filter((turn) => turn.first && turn.first < start) : [];
	return earlier.length && earlier.at(-1)!.last! >= start! - 1 ? earlier : [];
}

/** Turns that were read again are shown in the place of those before: what the reader has opened or begun in them stays. */
export function keepShown(known: Turn[], turns: Turn[]): Turn[] {
	const idOf = (turn: Turn) => `${turn.role} ${turn.run || turn.key}`;
	const shown = new Map(known.map((turn) => [idOf(turn), turn]));
	for (const turn of turns) {
		const before = shown.get(idOf(turn));
		if (!before) continue;
		shown.delete(idOf(turn));
		turn.key = before.key;
		if (turn.role === "user" && before.role === "user") turn.rewording = before.rewording;
		if (turn.role !== "agent" || before.role !== "agent") continue;
		for (const part of before.parts) {
			if (part.type === "text") continue;
			const again = part.type === "tool" ? findTool(turn, part.callId) : findReasoning(turn, part.step);
			if (again) again.isOpened = part.isOpened;
		}
	}
	return turns;
}

function storedUserTurn(message: Message): UserTurn {
	const { creation: at = null, run, attachments = [] } = message;
	return newUserTurn(message.content, message.name, { at, run: run || null, attachments });
}

/** A run that has said nothing (yet, or because it failed at once) still has its place after its prompt. */
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
	const turn = newAgentTurn(message.name, message.run || null);
	turns.push(turn);
	return turn;
}

const isAgentTurn = (turn: Turn): turn is AgentTurn => turn.role === "agent";

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
	const hasFailed =
		message.ok === undefined || message.ok === null ? looksFailed(message.content) : !message.ok;
	part.status = hasFailed ? "failed" : "done";
	part.result = message.content;
	part.error = message.error || null;
	part.ms = message.duration_ms ?? null;
	part.effect = part.effect || message.effect || null;
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

/** A draft takes the place of its call; one whose call has not been made is the newest thing there is. */
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

/** Parts as the page shows them: neighbours whose drafts belong to one turn are one block {type: "drafts", parts}. */
export function blocksOf(parts: Part[]): (Part | { type: "drafts"; parts: ToolPart[] })[] {
	const blocks: (Part | { type: "drafts"; parts: ToolPart[] })[] = [];
	for (const part of parts) {
		const last = blocks.at(-1);
		const step = part.type === "tool" && part.draft?.step;
		if (part.type === "tool" && step && last?.type === "drafts" && last.parts[0].draft!.step === step) last.parts.push(part);
		else if (part.type === "tool" && step) blocks.push({ type: "drafts", parts: [part] });
		else blocks.push(part);
	}
	return blocks.map((block) => (block.type === "drafts" && block.parts.length === 1 ? block.parts[0] : block));
}

/** The runs that wait until the one before them has ended. JSON has them in no order. */
function runsInLine(runs: Record<string, Run>): Set<string> {
	const byCreation = ([, a]: [string, Run], [, b]: [string, Run]) => (a.creation < b.creation ? -1 : 1);
	const open = Object.entries(runs)
		.filter(([, run]) => !isOver(run.status))
		.sort(byCreation);
	return new Set(open.slice(1).filter(([, run]) => run.status === "Queued").map(([name]) => name));
}

export function isOver(status: string): boolean {
	return ["Success", "Stopped", "Failed", "Cancelled"].includes(status);
}

/** One stream event, applied to the agent turn it belongs to. Unknown kinds are left alone: newer servers may send more. */
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

/** The response is the authority: what the stream left out of it is added, what is already there is not repeated. */
function completeAnswer(turn: AgentTurn, response: string): void {
	const answer = response.trim();
	const text = turn.parts.map((part) => (part.type === "text" ? part.text : "")).join("");
	if (text.trim().endsWith(answer)) return;
	const last = turn.parts.at(-1);
	if (last?.type === "text" && answer.startsWith(last.text.trim())) last.text = response;
	else turn.parts.push({ type: "text", step: null, text: response });
}

function replaceStatus(turn: AgentTurn, from: ToolPart["status"], to: ToolPart["status"]): void {
	for (const part of turn.parts) if (part.type === "tool" && part.status === from) part.status = to;
}

/** The connection is gone: nothing may go on spinning as if news could still come. */
export function markInterrupted(turn: AgentTurn): void {
	replaceStatus(turn, "running", "unknown");
}

export function answerText(turn: AgentTurn): string {
	return turn.parts
		.filter((part): part is TextPart => part.type === "text")
		.map((part) => part.text)
		.join("\n\n")
		.trim();
}

function newReasoningPart(step: number | null | undefined, text: string): ReasoningPart {
	return { type: "reasoning", step, text, isOpened: null };
}

function newToolPart(callId: string, tool: unknown): ToolPart {
	return {
		type: "tool",
		callId,
		tool: String(tool || ""),
		effect: null,
		arguments: null,
		status: "running",
		result: null,
		cut: false,
		sources: null,
		ms: null,
		error: null,
		draft: null,
		isOpened: null,
	};
}

function findTool(turn: AgentTurn, callId: string): ToolPart | undefined {
	return turn.parts.find((part): part is ToolPart => part.type === "tool" && part.callId === callId);
}

function findReasoning(turn: AgentTurn, step: number | null | undefined): ReasoningPart | undefined {
	return turn.parts.find((part): part is ReasoningPart => part.type === "reasoning" && part.step === step);
}

/** Older records do not say whether a call went well; a failure must not pass for a success. */
function looksFailed(content: string): boolean {
	const value = parseJson(content);
	if (value && typeof value === "object") {
		return Boolean(value.error) || value.success === false || value.ok === false;
	}
	return /^(error|traceback)\b/i.test(String(content ?? "").trim());
}

/** The value of a JSON text; undefined if it is not valid JSON. */
export function parseJson(text: unknown): any {
	try {
		return JSON.parse(text as string);
	} catch {
		return undefined;
	}
}
