/**
 * The open chats. A chat stays alive when its page is left, so that its answer keeps streaming while another conversation
 * is shown. A chat holds one conversation, or none ("new") until its first run has started.
 */
import { reactive, shallowReactive } from "vue";
import type { ApiError } from "../api/errors.ts";
import type { Draft } from "../api/types/drafts.ts";
import { type AgentTurn, isUnaccepted, type Turn, type UserTurn } from "../lib/turns.ts";
import { moveAttachments } from "./attachments.ts";
import { recall, remember } from "./storage.ts";
import { moveUnsent, NEW, recallMessages, recallText, release, takeBack } from "./unsent.ts";

/** A run that this page streams. */
export interface LiveRun {
	controller: AbortController;
	run: string | null;
	turn: AgentTurn;
	/** Set for a message that was sent from here. */
	user?: UserTurn;
	wasStopped?: boolean;
	/** The message had reached the site before, in another chat. */
	isElsewhere?: boolean;
}

interface Problem {
	error: ApiError;
	kind?: string;
	/** Whether the run has begun: the message is on the site. */
	hasStarted?: boolean;
}

export interface Chat {
	conversation: string | null;
	title: string;
	agent: string;
	/** The text in the message field; see unsent.ts. */
	text: string;
	turns: Turn[];
	phase: "idle" | "loading" | "running" | "stopping";
	isLoaded: boolean;
	loadError: ApiError | null;
	/** Whether there are older messages than those shown. */
	hasOlder: boolean;
	isLoadingOlder: boolean;
	olderError: ApiError | null;
	drafts: Draft[];
	mayWrite: boolean;
	/** If false, the chat is another user's, and editing a message starts a new chat of this user. */
	mayShare: boolean;
	problem: Problem | null;
	live: LiveRun | null;
	/** A version of another chat, which replaces it in the list once a message is sent. */
	isUnlisted: boolean;
	/** The number, by `nextNumber`, of the request or stream that is shown: earlier responses are out of date. */
	newest: number;
	/** Whether another run has begun while this page streams one. */
	isBehind: boolean;
	/** The run that continues without this page. */
	ongoing: string | null;
	/** A run in progress that could not be followed: its record is polled. */
	unfollowed: string | null;
	/** The run that waits for a person. */
	waiting: string | null;
	/** Progress of the ongoing run: {run, step, of, what}. */
	progress: { run?: string; [field: string]: unknown } | null;
	poll: ReturnType<typeof setTimeout> | undefined;
}

let number = 0;
/** Numbers the requests of chats, in order. */
export const nextNumber = (): number => ++number;

const chats = shallowReactive(new Map<string, Chat>());

function createChat(conversation: string | null): Chat {
	const chat: Chat = {
		conversation,
		title: "",
		agent: "",
		text: recallText(conversation),
		turns: recallMessages(conversation),
		phase: "idle",
		isLoaded: false,
		loadError: null,
		hasOlder: false,
		isLoadingOlder: false,
		olderError: null,
		drafts: [],
		mayWrite: true,
		mayShare: true,
		problem: null,
		live: null,
		isUnlisted: Boolean(conversation && recall(unlisted(conversation))),
		newest: 0,
		isBehind: false,
		ongoing: null,
		unfollowed: null,
		waiting: null,
		progress: null,
		poll: undefined,
	};
	// The type of a reactive chat is too deep for the compiler.
	return reactive(chat as object) as Chat;
}

const unlisted = (conversation: string) => `unlisted:${conversation}`;

/** Whether it is a version that is not listed yet. Survives a reload, because its first message may be sent after one. */
export function markUnlisted(chat: Chat, is = true): void {
	chat.isUnlisted = is;
	remember(unlisted(chat.conversation!), is ? "1" : null);
}

export function openChat(conversation: string | null | undefined): Chat {
	const key = conversation || NEW;
	if (!chats.has(key)) chats.set(key, createChat(conversation || null));
	return chats.get(key)!;
}

export const openChats = (): Iterable<Chat> => chats.values();

/** The chat without a conversation, if there is one; watched by the page that shows it. */
export const unsentChat = (): Chat | undefined => chats.get(NEW);

/**
 * A fresh "new" chat with what is being written. One with a sent message keeps running and is listed once its conversation
 * has a name; a message that could not be sent returns to the field.
 */
export function startNewChat(): Chat {
	const last = chats.get(NEW);
	if (!last?.turns.length && !last?.problem) return openChat(null);
	chats.delete(NEW);
	const fresh = openChat(null);
	// Nothing may have been stored.
	fresh.text ||= last.text;
	if (!last.live) for (const turn of last.turns.filter(isUnaccepted).reverse()) takeBack(fresh, turn);
	last.text = "";
	return fresh;
}

/** Whether another new chat was begun before this one had a conversation. */
export const isLeft = (chat: Chat): boolean => !chat.conversation && chats.get(NEW) !== chat;

/** Assigns a conversation to a chat that had none. */
export function nameChat(chat: Chat, conversation: string): void {
	if (!isLeft(chat)) {
		chats.delete(NEW);
		moveUnsent(chat, conversation);
		moveAttachments(NEW, conversation);
	}
	chat.conversation = conversation;
	chats.set(conversation, chat);
}

export function closeChat(conversation: string): void {
	const chat = chats.get(conversation);
	chats.delete(conversation);
	if (!chat) return;
	clearTimeout(chat.poll);
	chat.live?.controller.abort();
	release(chat);
}

export function isRunning(conversation: string): boolean {
	const chat = chats.get(conversation);
	return Boolean(chat?.live || chat?.ongoing);
}
