/**
 * Realtime events for this user: of their runs {run, kind, ...} as in huf/ai/storage/events.py, of runs of the
 * conversation that is open, and of drafts that wait for them {draft, run, agent, tool}. Pages also poll, so they work
 * without realtime.
 */
import { getCurrentScope, onScopeDispose } from "vue";
import type { Socket } from "socket.io-client";
import { boot } from "./session.ts";

/** An event of a run; the other fields depend on the kind. */
export interface RunNews {
	run: string;
	kind: string;
	conversation?: string;
	[field: string]: unknown;
}

type Listener = (message: any) => void;

const listeners: Record<string, Set<Listener>> = { huf_run: new Set(), huf_draft: new Set(), huf_stops: new Set() };
const returns = new Set<() => void>();
const CONVERSATION = "Agent Conversation";
let isAsked = false;
let connection: Socket | undefined;
let openConversation: string | null = null;

/** Calls `listener` with every message while the component is mounted. */
export const onRunNews = (listener: (news: RunNews) => void) => listen("huf_run", listener);
export const onDraftNews = (listener: Listener) => listen("huf_draft", listener);
export const onStopNews = (listener: Listener) => listen("huf_stops", listener);

/** Also reports new runs of this conversation, whoever sent the message; null ends that. */
export function hearConversation(name: string | null): void {
	if (name === openConversation) return;
	if (connection?.connected && openConversation) connection.emit("doc_unsubscribe", CONVERSATION, openConversation);
	openConversation = name;
	if (connection?.connected) subscribe();
}

/** The site admits only users who may read the conversation. */
function subscribe(): void {
	if (openConversation) connection!.emit("doc_subscribe", CONVERSATION, openConversation);
}

/** Calls `listener` after a reconnect: events sent meanwhile are lost. */
export function onReturn(listener: () => void): void {
	returns.add(listener);
	if (getCurrentScope()) onScopeDispose(() => returns.delete(listener));
}

function listen(event: string, listener: Listener): void {
	listeners[event].add(listener);
	if (getCurrentScope()) onScopeDispose(() => listeners[event].delete(listener));
	connect();
}

async function connect() {
	if (isAsked || !boot.site_name) return;
	isAsked = true;
	const { io } = await import("socket.io-client");
	const socket = (connection = io(`${location.origin}/${boot.site_name}`, {
		withCredentials: true,
		reconnectionAttempts: 5,
	}));
	socket.on("connect", subscribe);
	// A site that has never connected has no realtime. One that has will reconnect, however long the break.
	socket.once("connect", () => {
		socket.io.reconnectionAttempts(Infinity);
		socket.on("connect", () => returns.forEach((listener) => listener()));
	});
	// Shows tests and developers whether the page is connected.
	const show = (state: string) => () => (document.documentElement.dataset.realtime = state);
	socket.on("connect", show("connected")).on("disconnect", show("disconnected"));
	for (const [event, known] of Object.entries(listeners))
		socket.on(event, (message) => known.forEach((listener) => listener(message)));
}
