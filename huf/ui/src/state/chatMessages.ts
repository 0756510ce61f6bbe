/** Loads the stored messages of a chat, and follows a run that continues without this page. */
import * as api from "../api/chat.ts";
import { fetchDrafts } from "../api/drafts.ts";
import type { ApiError } from "../api/errors.ts";
import { fetchRun } from "../api/runs.ts";
import type { Message, StoredChat } from "../api/types/conversations.ts";
import type { Draft } from "../api/types/drafts.ts";
import type { Run, Timeline } from "../api/types/runs.ts";
import { joinTurns, keepShown, turnsBefore } from "../lib/joinTurns.ts";
import { buildTurns } from "../lib/storedTurns.ts";
import { applyEvent } from "../lib/turnEvents.ts";
import { type AgentTurn, isOver, isUnaccepted, newAgentTurn, type Turn, type UserTurn } from "../lib/turns.ts";
import { effectOf } from "./agents.ts";
import { type Chat, nextNumber, openChat, openChats } from "./chats.ts";
import { listVersion } from "./conversations.ts";
import type { RunNews } from "./realtime.ts";
import { dropUnsent, forgetMessage, moveToNew, recallRewording } from "./unsent.ts";

const POLL_MS = 2_500;
/** A waiting run is loaded again on a realtime event, or after this time. */
const WAIT_MS = 30_000;
const MAX_DRAFTS = 200;

/** Whether an error means that the chat was deleted, or that this user may not read it. */
export const isGone = ({ kind }: ApiError): boolean => kind === "permission" || kind === "missing";

type Stored = StoredChat & { drafts: Draft[]; timeline: Timeline | null };

/** Loads the stored messages, unless a run is streaming here. Known messages stay on the page meanwhile. */
export async function loadChat(chat: Chat): Promise<void> {
	if (!chat.conversation || chat.live) return;
	chat.isBehind = false;
	const isFirst = !chat.isLoaded;
	if (isFirst) chat.phase = "loading";
	try {
		const asked = nextNumber();
		const stored = await readStored(chat.conversation);
		if (asked < chat.newest) return;
		chat.newest = asked;
		takeStored(chat, stored);
	} catch (error) {
		if (isFirst) {
			chat.loadError = error as ApiError;
			if (isGone(error as ApiError)) moveToNew(chat, openChat(null));
		} else {
			chat.problem ||= { error: error as ApiError, kind: "not-read" };
			if (isGone(error as ApiError)) Object.assign(chat, { ongoing: null, waiting: null });
			else if (chat.ongoing || chat.waiting) pollLater(chat);
		}
	} finally {
		if (chat.phase === "loading") chat.phase = "idle";
	}
}

async function readStored(conversation: string): Promise<Stored> {
	const [stored, drafts] = await Promise.all([
		api.fetchMessages(conversation),
		fetchDrafts({ conversation }, 0, MAX_DRAFTS),
	]);
	const run = openRun(stored.runs);
	const timeline = run && drafts.some((draft) => draft.run === run.name) ? await fetchRun(run.name) : null;
	return { ...stored, drafts, timeline };
}

/** The first run that has not ended; those after it wait for it. */
const openRun = (runs: Record<string, Run> = {}) => Object.values(runs).find((run) => !isOver(run.status));

function takeStored(chat: Chat, { conversation, messages, runs, drafts, timeline }: Stored): void {
	const turns = keepShown(chat.turns, readTurns(conversation.agent, messages, runs, drafts, timeline));
	const earlier = turnsBefore(chat.turns, turns);
	const sent = chat.turns.filter(isUnaccepted);
	const unaccepted = dropAccepted(sent, messages);
	if (unaccepted.length < sent.length) listVersion(chat);
	const run = openRun(runs);
	const isUnsent = unaccepted.length > 0 && chat.problem?.hasStarted === false;
	const isTold = isUnsent || (run && chat.problem?.kind === "not-stopped");
	const isWaiting = run?.status === "Waiting";
	const { title, agent, may_write: mayWrite, may_share: mayShare } = conversation;
	const all = [...joinTurns(earlier, turns), ...unaccepted];
	Object.assign(chat, { turns: all, drafts, title, agent, mayWrite, mayShare, isLoaded: true });
	Object.assign(chat, {
		loadError: null,
		problem: isTold ? chat.problem : null,
		hasOlder: earlier.length ? chat.hasOlder : hasOlder(messages),
		ongoing: run && !isWaiting ? run.name : null,
		waiting: run && isWaiting ? run.name : null,
	});
	clearTimeout(chat.poll);
	if (run?.status === "Started" && chat.unfollowed !== run.name) follow(chat, run.name);
	else if (run) pollLater(chat);
}

/** Positions begin at 1. */
const hasOlder = (messages: Message[]) => messages.length >= api.MESSAGE_LIMIT && messages[0].sequence !== 1;

/** The messages that are still being sent, or could not be: not those that have reached the site after all. */
function dropAccepted(turns: UserTurn[], messages: Message[]): UserTurn[] {
	const accepted = new Set(messages.map((message) => message.idempotency_key));
	for (const key of accepted) if (key) forgetMessage(key);
	// The first message of this chat may still be in a new one, or was sent from there in another.
	for (const chat of openChats()) dropUnsent(chat, accepted);
	return turns.filter((turn) => !accepted.has(turn.key));
}

function pollLater(chat: Chat): void {
	clearTimeout(chat.poll);
	chat.poll = setTimeout(() => loadChat(chat), chat.waiting ? WAIT_MS : POLL_MS);
}

function readTurns(
	agent: string,
	messages: Message[],
	runs: Record<string, Run>,
	drafts: Draft[],
	timeline: Timeline | null = null,
): Turn[] {
	const turns = buildTurns(messages, runs || {}, drafts, timeline);
	for (const part of turns.flatMap((turn) => (turn.role === "agent" ? turn.parts : []))) {
		if (part.type === "tool") part.effect ||= effectOf(agent, part.tool);
	}
	for (const turn of turns) if (turn.role === "user") turn.rewording = recallRewording(turn.run);
	return turns;
}

/** Loads the messages before the first known one. Never throws: an error is stored in chat.olderError. */
export async function loadOlder(chat: Chat): Promise<void> {
	const first = chat.turns.find((turn) => turn.first)?.first;
	if (!chat.conversation || !chat.hasOlder || chat.isLoadingOlder || !first) return;
	Object.assign(chat, { isLoadingOlder: true, olderError: null });
	try {
		const { messages, runs } = await api.fetchMessages(chat.conversation, first);
		// Meanwhile the newest messages may have been reloaded, without the older ones.
		if (chat.turns.find((turn) => turn.first)?.first === first) {
			chat.turns = joinTurns(readTurns(chat.agent, messages, runs, chat.drafts), chat.turns);
			chat.hasOlder = hasOlder(messages);
		}
	} catch (error) {
		chat.olderError = error as ApiError;
	} finally {
		chat.isLoadingOlder = false;
	}
}

/**
 * Streams a run that continues without this page, from its first event, so that a reload shows all of an answer in
 * progress.
 */
async function follow(chat: Chat, run: string): Promise<void> {
	const place = chat.turns.findIndex((turn) => turn.role === "agent" && turn.run === run);
	if (place < 0) {
		chat.poll = setTimeout(() => loadChat(chat), POLL_MS);
		return;
	}
	chat.turns.splice(place, 1, { ...newAgentTurn(chat.turns[place].key, run), isOngoing: true });
	// Read from the chat again, because only that object is reactive.
	const turn = chat.turns[place] as AgentTurn;
	const controller = new AbortController();
	Object.assign(chat, { live: { controller, run, turn }, newest: nextNumber(), phase: "running" });
	const onEvent: api.StreamOptions["onEvent"] = (kind, data) => {
		applyEvent(turn, kind, data);
		if (kind === "progress") chat.progress = data;
		turn.isOngoing = !["text_delta", "run_waiting", "run_finished"].includes(kind);
	};
	try {
		await api.followRun({ run, last: 0 }, { signal: controller.signal, onEvent });
	} catch {
		chat.unfollowed = run;
	}
	Object.assign(chat, { live: null, phase: "idle" });
	loadChat(chat);
}

/** Events of a run that no chat here streams: another page, another user or a trigger started it. */
export function takeRunNews({ run, kind, conversation, ...news }: RunNews): void {
	for (const chat of openChats()) {
		const isNew = ["run_started", "run_queued"].includes(kind) && chat.conversation === conversation;
		if (chat.live) {
			chat.isBehind ||= isNew && chat.live.run !== run;
			continue;
		}
		if (kind === "progress" && chat.ongoing === run) chat.progress = { run, ...news };
		// Events may be late: a run that this page has streamed to its end is complete.
		const isWhole = chat.turns.some((turn) => turn.role === "agent" && turn.run === run && turn.outcome);
		const isKnown = chat.ongoing === run || chat.waiting === run;
		const isEnded = isKnown && ["run_finished", "run_waiting"].includes(kind);
		if ((isNew && !isWhole) || isEnded) loadChat(chat);
	}
}
