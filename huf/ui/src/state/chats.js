/**
 * The open chats. A chat lives on when its page is left, so a running answer keeps streaming while another conversation is
 * read. One chat holds one conversation, or none yet ("new") until the first run has started.
 */
import { reactive, shallowReactive } from "vue";
import * as api from "../api/chat.js";
import { fetchDrafts } from "../api/drafts.js";
import { fetchRun } from "../api/runs.js";
import {
	applyEvent,
	buildTurns,
	isOver,
	joinTurns,
	keepShown,
	markInterrupted,
	newAgentTurn,
	newUserTurn,
	turnsBefore,
} from "../lib/transcript.js";
import { effectOf } from "./agents.js";
import { moveAttachments } from "./attachments.js";
import { refreshHistory, touchConversation } from "./conversations.js";
import { remember } from "./storage.js";

export const NEW = "new";
const POLL_MS = 2_500;
/** A run that waits for a person is called on by realtime; where nothing can be heard, by this. */
const WAIT_MS = 30_000;
const MAX_DRAFTS = 200;
const CANCEL_GRACE_MS = 4_000;
/** Errors with which the site says for certain that it did not take the message on. */
const REFUSALS = ["session", "stale", "permission", "missing", "rejected"];

const chats = shallowReactive(new Map());
let nextKey = 1;

function createChat(conversation = null) {
	return reactive({
		conversation,
		title: "",
		agent: "",
		turns: [],
		phase: "idle", // idle | loading | running | stopping
		/** Whether there are messages before those that are shown. */
		hasOlder: false,
		isLoadingOlder: false,
		olderError: null,
		drafts: [],
		mayWrite: true,
		isLoaded: false,
		loadError: null,
		problem: null,
		live: null,
		ongoing: null,
		/** A run that goes on and could not be followed: its record is looked at now and then. */
		unfollowed: null,
		/** The run that waits for a person. */
		waiting: null,
		/** Of the ongoing run: {run, step, of, what}. */
		progress: null,
		poll: null,
	});
}

export function openChat(conversation) {
	const key = conversation || NEW;
	if (!chats.has(key)) chats.set(key, createChat(conversation || null));
	return chats.get(key);
}

/** The chat that has no conversation yet, if there is one; watched by the page that shows it. */
export const unsentChat = () => chats.get(NEW);

/** News of a run that no chat here streams: another page began it, or a trigger. */
export function takeRunNews({ run, kind, conversation, ...news }) {
	for (const chat of chats.values()) {
		if (chat.live) continue;
		if (kind === "progress" && chat.ongoing === run) chat.progress = { run, ...news };
		// What a page hears may come late: of a run that it has streamed to its end it knows everything.
		const isWhole = chat.turns.some((turn) => turn.run === run && turn.outcome);
		const isBegun = kind === "run_started" && chat.conversation === conversation && !isWhole;
		const isKnown = chat.ongoing === run || chat.waiting === run;
		const isEnded = isKnown && ["run_finished", "run_waiting"].includes(kind);
		if (isBegun || isEnded) loadChat(chat);
	}
}

/** A fresh "new" chat. One that has been sent keeps running and finds its place when its conversation has a name. */
export function startNewChat() {
	if (chats.get(NEW)?.turns.length) chats.delete(NEW);
	return openChat(null);
}

export function closeChat(conversation) {
	chats.get(conversation)?.live?.controller.abort();
	chats.delete(conversation);
}

export function isRunning(conversation) {
	const chat = chats.get(conversation);
	return Boolean(chat?.live || chat?.ongoing);
}

/** Reads the stored messages, unless a run is streaming here. What is known already stays on the page meanwhile. */
export async function loadChat(chat) {
	if (!chat.conversation || chat.live) return;
	const isFirst = !chat.isLoaded;
	if (isFirst) chat.phase = "loading";
	try {
		takeStored(chat, await readStored(chat.conversation));
	} catch (error) {
		if (isFirst) chat.loadError = error;
		else chat.problem = { error, prompt: null };
	} finally {
		if (chat.phase === "loading") chat.phase = "idle";
	}
}

async function readStored(conversation) {
	const [stored, drafts] = await Promise.all([
		api.fetchMessages(conversation),
		fetchDrafts({ conversation }, 0, MAX_DRAFTS),
	]);
	const run = openRun(stored.runs);
	const isAsked = drafts.some((draft) => draft.run === run?.name);
	return { ...stored, drafts, timeline: isAsked ? await fetchRun(run.name) : null };
}

/** The first run that has not ended; those after it wait for it. */
const openRun = (runs) => Object.values(runs || {}).find((run) => !isOver(run.status));

function takeStored(chat, { conversation, messages, runs, drafts, timeline }) {
	if (chat.live) return;
	const turns = keepShown(chat.turns, readTurns(conversation.agent, messages, runs, drafts, timeline));
	const earlier = turnsBefore(chat.turns, turns);
	const run = openRun(runs);
	const isWaiting = run?.status === "Waiting";
	const { title, agent, may_write: mayWrite } = conversation;
	Object.assign(chat, { turns: joinTurns(earlier, turns), drafts, title, agent, mayWrite, isLoaded: true });
	Object.assign(chat, {
		loadError: null,
		problem: null,
		hasOlder: earlier.length ? chat.hasOlder : messages.length >= api.MESSAGE_LIMIT,
		ongoing: run && !isWaiting ? run.name : null,
		waiting: isWaiting ? run.name : null,
	});
	clearTimeout(chat.poll);
	if (run?.status === "Started" && chat.unfollowed !== run.name) follow(chat, run.name);
	else if (run) chat.poll = setTimeout(() => loadChat(chat), isWaiting ? WAIT_MS : POLL_MS);
}

function readTurns(agent, messages, runs, drafts, timeline = null) {
	const turns = buildTurns(messages, runs || {}, drafts, timeline);
	for (const part of turns.flatMap((turn) => turn.parts || [])) {
		if (part.type === "tool") part.effect ||= effectOf(agent, part.tool);
	}
	return turns;
}

/** Reads the messages before the first one that is known. Never throws: what goes wrong is kept as chat.olderError. */
export async function loadOlder(chat) {
	const first = chat.turns.find((turn) => turn.first)?.first;
	if (!chat.hasOlder || chat.isLoadingOlder || !first) return;
	Object.assign(chat, { isLoadingOlder: true, olderError: null });
	try {
		const { messages, runs } = await api.fetchMessages(chat.conversation, first);
		// Meanwhile the newest messages may have been read again, without those before them.
		if (chat.turns.find((turn) => turn.first)?.first === first) {
			chat.turns = joinTurns(readTurns(chat.agent, messages, runs, chat.drafts), chat.turns);
			chat.hasOlder = messages.length >= api.MESSAGE_LIMIT;
		}
	} catch (error) {
		chat.olderError = error;
	} finally {
		chat.isLoadingOlder = false;
	}
}

/** Streams a run that goes on without this page, from its first event; a reload in the middle of an answer sees all of it. */
async function follow(chat, run) {
	const place = chat.turns.findIndex((turn) => turn.role === "agent" && turn.run === run);
	if (place < 0) {
		chat.poll = setTimeout(() => loadChat(chat), POLL_MS);
		return;
	}
	chat.turns.splice(place, 1, { ...newAgentTurn(chat.turns[place].key, run), isOngoing: true });
	const live = { controller: new AbortController(), run, turn: chat.turns[place] };
	Object.assign(chat, { live, phase: "running" });
	const onEvent = (kind, data) => {
		applyEvent(chat.live.turn, kind, data);
		if (kind === "progress") chat.progress = data;
		chat.live.turn.isOngoing = !["text_delta", "run_waiting", "run_finished"].includes(kind);
	};
	try {
		await api.followRun({ run, last: 0 }, { signal: live.controller.signal, onEvent });
	} catch {
		chat.unfollowed = run;
	}
	Object.assign(chat, { live: null, phase: "idle" });
	loadChat(chat);
}

/** Sends a prompt and streams the run into the chat. Never throws: what goes wrong is kept as chat.problem. */
export async function sendPrompt(chat, prompt, agent, attachments = []) {
	if (chat.live) return;
	const user = newUserTurn(prompt, `u${nextKey++}`, { at: new Date(), attachments });
	chat.turns.push(user, newAgentTurn(`a${nextKey++}`));
	const live = {
		controller: new AbortController(),
		run: null,
		turn: chat.turns.at(-1),
		user: chat.turns.at(-2),
		prompt,
	};
	Object.assign(chat, { live, phase: "running", problem: null, agent: agent || chat.agent });
	const request = {
		agent: chat.agent,
		prompt,
		conversation: chat.conversation || undefined,
		attachments: attachments.length ? attachments.map((file) => file.name) : undefined,
	};
	try {
		await api.streamRun(request, {
			signal: live.controller.signal,
			onEvent: (kind, data) => take(chat, kind, data),
		});
	} catch (error) {
		fail(chat, chat.live, error);
	} finally {
		const { outcome, isWaiting, isOngoing } = chat.live.turn;
		Object.assign(chat, { live: null, phase: "idle", isLoaded: Boolean(chat.conversation) });
		refreshHistory();
		// What goes on without this page, or waits for a person, is followed from here.
		if (!outcome && (isWaiting || isOngoing || !chat.problem)) loadChat(chat);
	}
}

function take(chat, kind, data) {
	applyEvent(chat.live.turn, kind, data);
	if (kind === "run_started" || kind === "run_queued") begin(chat, data);
}

function begin(chat, { run, conversation, agent }) {
	chat.live.run = run;
	if (chat.live.user) chat.live.user.run = run;
	const draft = chat.conversation || NEW;
	if (!chat.conversation) {
		chat.conversation = conversation;
		const { prompt, user } = chat.live;
		chat.title = (prompt || user.attachments[0].file_name).replace(/\s+/g, " ").slice(0, 60);
		if (chats.get(NEW) === chat) chats.delete(NEW);
		chats.set(conversation, chat);
	}
	chat.agent = agent || chat.agent;
	touchConversation({ name: conversation, title: chat.title, agent: chat.agent });
	// The text is safe on the site now; until here a reload would have brought it back.
	remember(`draft:${draft}`, null);
	moveAttachments(draft, conversation);
}

/** Before the run has started the site may have nothing of the prompt; afterwards the run may go on without us. */
function fail(chat, live, error) {
	markInterrupted(live.turn);
	if (live.turn.outcome) return;
	const hasStarted = Boolean(live.run);
	if (!hasStarted) {
		live.user.unsent = REFUSALS.includes(error.kind) ? "refused" : "unsure";
		chat.turns = chat.turns.filter((turn) => turn.key !== live.turn.key);
	}
	const kind = live.wasStopped ? (hasStarted ? "stopped" : "stopped-early") : undefined;
	chat.problem = { error, kind, prompt: live.prompt, hasStarted };
}

/** Asks the site to cancel, waits a little for the run's own last word, then closes the connection. */
export async function stopRun(chat) {
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

/** A run that this page does not stream: what became of it is read from the record. */
async function stopOngoing(chat) {
	const run = chat.ongoing || chat.waiting;
	chat.phase = "stopping";
	try {
		await api.cancelRun(run);
		await loadChat(chat);
	} catch (error) {
		Object.assign(chat, { problem: { error, kind: "not-stopped" }, ongoing: null });
	}
	chat.phase = "idle";
}

/** Has a run that used up its steps go on in the background, and follows it. Rejects with what the site says. */
export async function goOn(chat, run) {
	await api.goOn(run);
	await loadChat(chat);
}

/**
 * A chat of its own with what was said before a run, and in it if `keep`; the other stays as it is. Rejects with what the
 * site says.
 */
export async function branchOff(chat, run, keep) {
	const branch = openChat(await api.branchConversation(chat.conversation, run, keep));
	refreshHistory();
	await loadChat(branch);
	return branch;
}

/** Sends the same text again, with its files. An unsent message is replaced; one that reached the site stays where it is. */
export function sendAgain(chat, prompt) {
	const said = chat.turns.findLast((turn) => turn.role === "user");
	const attachments = said?.text === prompt ? said.attachments : [];
	if (chat.turns.at(-1)?.unsent) chat.turns.pop();
	return sendPrompt(chat, prompt, chat.agent, attachments);
}
