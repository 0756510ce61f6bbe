/** The turns of a thread, with their parts. Pure: no fetch, no Vue, no clock. */
import type { Attachment } from "../api/types/conversations.ts";
import type { Draft } from "../api/types/drafts.ts";
import type { Run } from "../api/types/runs.ts";
import type { Passage } from "../api/types/setup.ts";
import type { Effect, Json } from "../api/types/values.ts";

/** The positions of a turn's first and last message in the conversation; null if unknown. */
interface Places {
	first: number | null;
	last: number | null;
}

export interface TextPart {
	type: "text";
	step: number | null | undefined;
	text: string;
}

/** A model's reasoning, if it returns any. */
interface ReasoningPart {
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
	/** Set for a truncated result. */
	sources: Passage[] | null;
	ms: number | null;
	error: string | null;
	/** The question to a person about the call. */
	draft: Draft | null;
	/** The reader's choice. */
	isOpened: boolean | null;
}

export type Part = TextPart | ReasoningPart | ToolPart;

export interface UserTurn extends Places {
	/** For a message sent from here, also its idempotency key: the site accepts it once, however often it is sent. */
	key: string;
	role: "user";
	run: string | null;
	text: string;
	/** Full name of another user who sent it. */
	author: string | null;
	attachments: Attachment[];
	at: Date | string | null;
	unsent: "refused" | "unsure" | null;
	/** It is sent again, and an earlier attempt may have reached the site. */
	mayBeSent: boolean;
	/** The edited text that the reader is about to send. */
	rewording: string | null;
	/** It waits for the run before it. */
	isQueued: boolean;
}

interface NoteTurn extends Places {
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
	/** The run continues without this page. */
	isOngoing: boolean;
	/** The run waits for a person. */
	isWaiting: boolean;
}

export type Turn = UserTurn | NoteTurn | AgentTurn;

export function newUserTurn(
	text: string,
	key: string,
	{ at = null, run = null, author = null, attachments = [] }: Partial<
		Pick<UserTurn, "at" | "run" | "author" | "attachments">
	> = {},
): UserTurn {
	const state = { unsent: null, mayBeSent: false, first: null, last: null, rewording: null, isQueued: false };
	return { key, role: "user", run, text, author, attachments, at, ...state };
}

export function newAgentTurn(key: string, run: string | null = null): AgentTurn {
	const state = { offline: false, mode: null, tier: null, isOngoing: false, isWaiting: false };
	return { key, role: "agent", run, parts: [], outcome: null, error: null, first: null, last: null, ...state };
}

export function newReasoningPart(step: number | null | undefined, text: string): ReasoningPart {
	return { type: "reasoning", step, text, isOpened: null };
}

export function newToolPart(callId: string, tool: unknown): ToolPart {
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

/** A message sent from here, as long as the site has not said that it has it. */
export const isUnaccepted = (turn: Turn): turn is UserTurn => turn.role === "user" && !turn.run && turn.first === null;

export const isAgentTurn = (turn: Turn): turn is AgentTurn => turn.role === "agent";

export function findAgentTurn(turns: Turn[], run: string | null): AgentTurn | undefined {
	return run ? turns.filter(isAgentTurn).find((turn) => turn.run === run) : undefined;
}

/** The name of another user whose message a run answers; null if there is none. */
export const authorOf = (turns: Turn[], run: string | null): string | null =>
	turns.find((turn): turn is UserTurn => turn.role === "user" && turn.run === run)?.author || null;

/** A run answers after its prompt, even if the next message was sent, and queued, before it had answered. */
export function addTurn(turns: Turn[], turn: Turn): void {
	const run = isAgentTurn(turn) && turn.run;
	let place = run ? turns.findIndex((each) => each.role === "user" && each.run === run) + 1 : 0;
	while (place && turns[place]?.role === "agent") place++;
	turns.splice(place || turns.length, 0, turn);
}

export function findTool(turn: AgentTurn, callId: string): ToolPart | undefined {
	return turn.parts.find((part): part is ToolPart => part.type === "tool" && part.callId === callId);
}

export function findReasoning(turn: AgentTurn, step: number | null | undefined): ReasoningPart | undefined {
	return turn.parts.find((part): part is ReasoningPart => part.type === "reasoning" && part.step === step);
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

export function answerText(turn: AgentTurn): string {
	return turn.parts
		.filter((part): part is TextPart => part.type === "text")
		.map((part) => part.text)
		.join("\n\n")
		.trim();
}

/** Whether it has changed records, or sent something. */
export const hasActed = (turn: AgentTurn): boolean =>
	turn.parts.some(
		(part) =>
			part.type === "tool" &&
			(part.effect === "write" || part.effect === "external") &&
			(part.draft ? part.draft.status === "Applied" : part.status !== "failed"),
	);

export function replaceStatus(turn: AgentTurn, from: ToolPart["status"], to: ToolPart["status"]): void {
	for (const part of turn.parts) if (part.type === "tool" && part.status === from) part.status = to;
}

/** The connection is lost: no spinner may suggest that news can still arrive. */
export function markInterrupted(turn: AgentTurn): void {
	replaceStatus(turn, "running", "unknown");
}

export function isOver(status: string): boolean {
	return ["Success", "Stopped", "Failed", "Cancelled"].includes(status);
}
