/**
 * The open chats. A chat lives on when its page is left, so a running answer keeps streaming while another conversation is
 * read. One chat holds one conversation, or none yet ("new") until the first run has started.
 */
import { reactive, shallowReactive } from "vue";
import type { ApiError } from "../api/errors.ts";
import type { Draft } from "../api/types/drafts.ts";
import type { AgentTurn, Turn, UserTurn } from "../lib/turns.ts";

export const NEW = "new";

/** A run that this page streams. */
export interface LiveRun {
	controller: AbortController;
	run: string | null;
	turn: AgentTurn;
	/** Of a prompt that was sent from here. */
	user?: UserTurn;
	prompt?: string;
	wasStopped?: boolean;
}

export interface Problem {
	error: ApiError;
	kind?: string;
	prompt?: string | null;
	hasStarted?: boolean;
}

export interface Chat {
	conversation: string | null;
	title: string;
	agent: string;
	turns: Turn[];
	phase: "idle" | "loading" | "running" | "stopping";
	isLoaded: boolean;
	loadError: ApiError | null;
	/** Whether there are messages before those that are shown. */
	hasOlder: boolean;
	isLoadingOlder: boolean;
	olderError: ApiError | null;
	drafts: Draft[];
	mayWrite: boolean;
	problem: Problem | null;
	live: LiveRun | null;
	/** A version of another chat that takes its place in the list once a message is sent. */
	isUnlisted: boolean;
	/** When what is shown was asked for, or began to be streamed, by `nextNumber`: an earlier answer is out of date. */
	newest: number;
	/** The run that goes on without this page. */
	ongoing: string | null;
	/** A run that goes on and could not be followed: its record is read now and then. */
	unfollowed: string | null;
	/** The run that waits for a person. */
	waiting: string | null;
	/** How far the ongoing run is: {run, step, of, what}. */
	progress: { run?: string; [field: string]: unknown } | null;
	poll: ReturnType<typeof setTimeout> | undefined;
}

let number = 0;
/** Numbers what chats ask for, in order. */
export const nextNumber = (): number => ++number;

const chats = shallowReactive(new Map<string, Chat>());

function createChat(conversation: string | null): Chat {
	const chat: Chat = {
		conversation,
		title: "",
		agent: "",
		turns: [],
		phase: "idle",
		isLoaded: false,
		loadError: null,
		hasOlder: false,
		isLoadingOlder: false,
		olderError: null,
		drafts: [],
		mayWrite: true,
		problem: null,
		live: null,
		isUnlisted: false,
		newest: 0,
		ongoing: null,
		unfollowed: null,
		waiting: null,
		progress: null,
		poll: undefined,
	};
	// The type of a reactive chat is too deep for the compiler.
	return reactive(chat as object) as Chat;
}

export function openChat(conversation: string | null | undefined): Chat {
	const key = conversation || NEW;
	if (!chats.has(key)) chats.set(key, createChat(conversation || null));
	return chats.get(key)!;
}

export const openChats = (): Iterable<Chat> => chats.values();

/** The chat that has no conversation yet, if there is one; watched by the page that shows it. */
export const unsentChat = (): Chat | undefined => chats.get(NEW);

/** A fresh "new" chat. One that has been sent keeps running and finds its place when its conversation has a name. */
export function startNewChat(): Chat {
	if (chats.get(NEW)?.turns.length) chats.delete(NEW);
	return openChat(null);
}

/** A chat without a conversation has got one. */
export function nameChat(chat: Chat, conversation: string): void {
	chat.conversation = conversation;
	if (chats.get(NEW) === chat) chats.delete(NEW);
	chats.set(conversation, chat);
}

export function closeChat(conversation: string): void {
	chats.get(conversation)?.live?.controller.abort();
	chats.delete(conversation);
}

export function isRunning(conversation: string): boolean {
	const chat = chats.get(conversation);
	return Boolean(chat?.live || chat?.ongoing);
}
