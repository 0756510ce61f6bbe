/** Runs started by a chat page: sending prompts; streaming, stopping and continuing runs; branches. */
import * as api from "../api/chat.ts";
import type { ApiError } from "../api/errors.ts";
import type { Attachment, EventData, RunRequest } from "../api/types/conversations.ts";
import { t } from "../i18n/index.ts";
import { applyEvent } from "../lib/turnEvents.ts";
import { type AgentTurn, markInterrupted, newAgentTurn, newUserTurn, type UserTurn } from "../lib/turns.ts";
import { chosenModel, knownAgent } from "./agents.ts";
import { showError } from "./notices.ts";
import { route } from "./route.ts";
import { loadChat } from "./chatMessages.ts";
import { type Chat, isLeft, type LiveRun, markUnlisted, nameChat, nextNumber, openChat } from "./chats.ts";
import { listVersion, refreshHistory, touchConversation } from "./conversations.ts";
import { forgetMessage, IS_TEST, type Sent, storeMessage, takeBack } from "./unsent.ts";

const CANCEL_GRACE_MS = 4_000;
const MAX_TITLE_CHARS = 60;
/** Errors that mean for certain that the site did not accept the message. */
const REFUSALS = ["session", "stale", "permission", "missing", "rejected"];
/** Those of them that come before the site looks for an earlier attempt. */
const BLIND_REFUSALS = ["session", "stale"];

let nextKey = 1;

/** 32 random hexadecimal digits. Not `randomUUID`, which pages without TLS do not have. */
const randomKey = () => [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join("");

/**
 * Sends a prompt and streams the run into the chat. Never throws: an error is stored in chat.problem. `earlier`: of a message
 * that is sent again.
 */
export async function sendPrompt(
	chat: Chat,
	prompt: string,
	agent: string,
	attachments: Attachment[] = [],
	earlier?: Sent,
): Promise<void> {
	const user = newUserTurn(prompt, earlier?.key || randomKey(), { at: new Date(), attachments });
	user.mayBeSent = earlier?.unsent === "unsure";
	storeMessage(chat.conversation, user);
	if (isBusy(chat)) return queuePrompt(chat, user);
	const live = beginLive(chat, user);
	Object.assign(chat, { live, newest: nextNumber(), phase: "running", problem: null, agent: agent || chat.agent });
	try {
		await api.streamRun(requestOf(chat, user), {
			signal: live.controller.signal,
			onEvent: (kind, data) => take(chat, kind, data),
		});
	} catch (error) {
		fail(chat, chat.live!, error as ApiError);
	} finally {
		const { outcome, isWaiting, isOngoing } = chat.live!.turn;
		const isFollowed = chat.turns.some((turn) => turn.role === "user" && turn.isQueued);
		Object.assign(chat, { live: null, phase: "idle", isLoaded: Boolean(chat.conversation) });
		refreshHistory();
		// A run that continues without this page, or waits for a person, is followed from here.
		if (isFollowed || chat.isBehind || (!outcome && (isWaiting || isOngoing || !chat.problem))) loadChat(chat);
	}
}

/** Whether a message to this chat has to wait until the run before it has ended. */
export const isBusy = (chat: Chat) => Boolean(chat.live || chat.ongoing || chat.waiting);

function requestOf(chat: Chat, { text, attachments, key }: UserTurn): RunRequest {
	return {
		agent: chat.agent,
		prompt: text,
		conversation: chat.conversation || undefined,
		is_test: IS_TEST || undefined,
		attachments: attachments.length ? attachments.map((file) => file.name) : undefined,
		route: route.value === "agent" ? undefined : route.value,
		model: chosenModel(knownAgent(chat.agent)) || undefined,
		idempotency_key: key,
	};
}

/** Returns a message that the site has just refused to the field, for editing. */
export function takeRefused(chat: Chat): void {
	const newest = chat.turns.at(-1);
	if (chat.problem && newest?.role === "user" && newest.unsent === "refused") takeBack(chat, newest);
}

/** Sends a message while a run is in progress: the site queues it and answers it in turn. */
async function queuePrompt(chat: Chat, user: UserTurn): Promise<void> {
	chat.turns.push({ ...user, isQueued: true });
	const turn = chat.turns.at(-1) as UserTurn;
	const controller = new AbortController();
	const onEvent: api.StreamOptions["onEvent"] = (kind, { run, conversation }) => {
		if (conversation && conversation !== chat.conversation) reportElsewhere(chat, turn);
		turn.run = run!;
		// Messages that were read before the site stored this one must not replace it.
		chat.newest = nextNumber();
		forgetMessage(turn.key);
		// The previous run had ended after all: the message's run is in progress and is followed from there.
		if (kind !== "run_queued") controller.abort();
	};
	try {
		await api.streamRun(requestOf(chat, user), { signal: controller.signal, onEvent });
	} catch (error) {
		if (!turn.run) {
			turn.unsent = unsentAfter(turn, error as ApiError);
			chat.problem = { error: error as ApiError, hasStarted: false };
			return;
		}
	}
	loadChat(chat);
}

function beginLive(chat: Chat, user: UserTurn): LiveRun {
	chat.turns.push(user, newAgentTurn(`a${nextKey++}`));
	return {
		controller: new AbortController(),
		run: null,
		// Read from the chat again, because only those objects are reactive.
		turn: chat.turns.at(-1) as AgentTurn,
		user: chat.turns.at(-2) as UserTurn,
	};
}

function take(chat: Chat, kind: string, data: EventData): void {
	applyEvent(chat.live!.turn, kind, data);
	if (kind !== "run_started" && kind !== "run_queued") return;
	const { live, conversation } = chat;
	if (!conversation || conversation === data.conversation) return begin(chat, live!, data);
	live!.isElsewhere = true;
	reportElsewhere(chat, live!.user!);
	chat.turns = chat.turns.filter((turn) => turn.key !== live!.turn.key);
	live!.controller.abort();
}

/** The message had begun a chat of its own, and was moved here because the response was lost. */
function reportElsewhere(chat: Chat, { key, text }: UserTurn): void {
	const others = chat.turns.filter((turn) => turn.key !== key);
	if (others.length === chat.turns.length) return;
	chat.turns = others;
	forgetMessage(key);
	refreshHistory();
	showError({ message: t("turn.unsent.elsewhere", { text: text.slice(0, MAX_TITLE_CHARS) }) });
}

function begin(chat: Chat, live: LiveRun, { run, conversation, agent }: EventData): void {
	live.run = run!;
	const user = live.user!;
	user.run = run!;
	forgetMessage(user.key);
	if (!chat.conversation) {
		chat.title = (user.text || user.attachments[0].file_name).replace(/\s+/g, " ").slice(0, MAX_TITLE_CHARS);
		nameChat(chat, conversation);
	}
	chat.agent = agent || chat.agent;
	listVersion(chat);
	touchConversation({ name: conversation, title: chat.title, agent: chat.agent });
}

const unsentAfter = ({ mayBeSent }: UserTurn, { kind }: ApiError): UserTurn["unsent"] =>
	REFUSALS.includes(kind) && !(mayBeSent && BLIND_REFUSALS.includes(kind)) ? "refused" : "unsure";

/** Before the run has started, the site may not have the prompt; afterwards the run may continue without this page. */
function fail(chat: Chat, live: LiveRun, error: ApiError): void {
	markInterrupted(live.turn);
	if (live.turn.outcome || live.isElsewhere) return;
	const hasStarted = Boolean(live.run);
	if (!hasStarted) {
		live.user!.unsent = unsentAfter(live.user!, error);
		chat.turns = chat.turns.filter((turn) => turn.key !== live.turn.key);
		if (isLeft(chat)) {
			takeBack(openChat(null), live.user!);
			showError(error);
		}
	}
	const kind = live.wasStopped ? (hasStarted ? "stopped" : "stopped-early") : undefined;
	chat.problem = { error, kind, hasStarted };
}

/** Asks the site to cancel, waits a little for the run's own last event, then closes the connection. */
export async function stopRun(chat: Chat): Promise<void> {
	const { live } = chat;
	if ((chat.ongoing || chat.waiting) && !live) return stopOngoing(chat);
	if (!live || chat.phase === "stopping") return;
	chat.phase = "stopping";
	live.wasStopped = true;
	if (live.run) {
		try {
			await api.cancelRun(live.run);
		} catch (error) {
			live.wasStopped = false;
			if (chat.live === live)
				Object.assign(chat, { phase: "running", problem: { error, kind: "not-stopped" } });
			return;
		}
		await new Promise((resolve) => setTimeout(resolve, CANCEL_GRACE_MS));
	}
	if (chat.live === live) live.controller.abort();
}

/** A run that this page does not stream: its outcome is read from the record. */
async function stopOngoing(chat: Chat): Promise<void> {
	const run = (chat.ongoing || chat.waiting)!;
	chat.phase = "stopping";
	try {
		await api.cancelRun(run);
		await loadChat(chat);
	} catch (error) {
		chat.problem = { error: error as ApiError, kind: "not-stopped" };
	}
	chat.phase = "idle";
}

/** Continues a run that reached its step limit in the background, and follows it. Rejects with the site's error. */
export async function goOn(chat: Chat, run: string): Promise<void> {
	await api.goOn(run);
	await loadChat(chat);
}

/**
 * Creates a new chat with the messages up to the end of a run; the other stays unchanged. Rejects with the site's error.
 */
export async function branchOff(chat: Chat, run: string): Promise<Chat> {
	const branch = openChat(await api.branchConversation(chat.conversation!, run));
	refreshHistory();
	await loadChat(branch);
	return branch;
}

/** Whether the run that answers this user's message is in progress or waits for a person. */
export const isUnderWay = (chat: Chat, { run, author }: UserTurn): boolean =>
	!author && Boolean(run) && [chat.ongoing, chat.waiting].includes(run);

/** Whether another message can take the place of this one, because its run has not begun and is this user's. */
export const isReplaceable = ({ author, isQueued }: UserTurn): boolean => !author && isQueued;

/** Sends a message instead of a queued one. Rejects with the site's error. */
export async function replaceQueued(chat: Chat, turn: UserTurn, prompt: string): Promise<void> {
	await api.cancelRun(turn.run!);
	sendPrompt(chat, prompt, chat.agent, turn.attachments);
}

/**
 * Creates a version of a chat that ends before a message, to send another one there. The run of the message is cancelled,
 * because otherwise both would act. Rejects with the site's error.
 */
export async function startVersion(chat: Chat, turn: UserTurn): Promise<Chat> {
	const version = openChat(await api.editConversation(chat.conversation!, turn.run!));
	if (isUnderWay(chat, turn)) {
		await api.cancelRun(turn.run!);
		loadChat(chat);
	}
	markUnlisted(version);
	await loadChat(version);
	return version;
}

/**
 * Sends the text and files of a message again. An unsent one is replaced, and the site takes it only once; one that reached
 * the site stays in its place.
 */
export function sendAgain(chat: Chat, { key, text, attachments, unsent }: UserTurn, agent: string): Promise<void> {
	if (unsent) chat.turns = chat.turns.filter((turn) => turn.key !== key);
	return sendPrompt(chat, text, agent, attachments, unsent ? { key, unsent } : undefined);
}
