/** Endpoints of the chat, one function each. Responses are described in huf/api. */
import { createSseParser, type SseParser } from "../lib/sse.ts";
import { parseJson } from "../lib/json.ts";
import { ApiError, type ErrorKind } from "./errors.ts";
import { callGet, callPost, openReading, openStream } from "./http.ts";
import type { ChatAgent } from "./types/agents.ts";
import type { ConversationItem, EventData, RunRequest, Share, StoredChat } from "./types/conversations.ts";
import type { MessageVersions } from "./types/drafts.ts";

export const PAGE_LENGTH = 30;
/** Messages per page; older pages load when the reader scrolls near them. */
export const MESSAGE_LIMIT = 50;
/** The last event of a stream: the run has ended, waits for a person, or is left to a worker. */
const LAST_EVENTS = ["run_finished", "run_waiting", "run_queued"];
/** Delays before each attempt to reconnect. */
const TRIES_MS = [200, 1_000, 3_000, 8_000];
/** If a server that sends pings is silent for this long, the connection is dead. */
const SILENCE_MS = 75_000;

export const fetchAgents = () => callGet<ChatAgent[]>("huf.api.agent.get_agents");
export const fetchConversations = (start = 0) =>
	callGet<ConversationItem[]>("huf.api.chat.get_conversations", { start, limit: PAGE_LENGTH });
/** `before`: the position of a message; messages in front of it are returned. */
export const fetchMessages = (conversation: string, before: number | null = null) =>
	callGet<StoredChat>("huf.ai.agent_chat.get_agent_chat_messages", { conversation, limit: MESSAGE_LIMIT, before });
export const searchConversations = (text: string) =>
	callGet<ConversationItem[]>("huf.api.conversation.search", { text, limit: PAGE_LENGTH });
/** A new conversation with the messages up to the end of a run -> its name */
export const branchConversation = (conversation: string, run: string) =>
	callPost<string>("huf.api.conversation.branch", { conversation, run });
/** A version of a conversation with the messages before a run, to send another one there -> its name */
export const editConversation = (conversation: string, run: string) =>
	callPost<string>("huf.api.conversation.edit", { conversation, run });
/** Makes a version the one that is listed. */
export const showVersion = (conversation: string) => callPost("huf.api.conversation.show", { conversation });
export const fetchVersions = (conversation: string) =>
	callGet<MessageVersions[]>("huf.api.conversation.get_versions", { conversation });
/** The users with whom a conversation is shared */
export const fetchShares = (conversation: string) =>
	callGet<Share[]>("huf.api.conversation.get_shares", { conversation });
export const shareConversation = (conversation: string, user: string, write: boolean) =>
	callPost<Share[]>("huf.api.conversation.share", { conversation, user, write });
export const unshareConversation = (conversation: string, user: string) =>
	callPost<Share[]>("huf.api.conversation.unshare", { conversation, user });
export const renameConversation = (conversation: string, title: string) =>
	callPost("huf.api.chat.rename_conversation", { conversation, title });
export const deleteConversation = (conversation: string) =>
	callPost("huf.api.chat.delete_conversation", { conversation }, true);
/** The transcript of a recording (a Blob) -> {text} */
export async function transcribe(agent: string, recording: Blob): Promise<{ text: string }> {
	const bytes = new Uint8Array(await recording.arrayBuffer());
	let signs = "";
	for (const byte of bytes) signs += String.fromCharCode(byte);
	return callPost("huf.api.conversation.transcribe", { agent, sound: btoa(signs), kind: recording.type });
}
/** Continues a run that reached its step limit in the background -> {run, conversation} */
export const goOn = (run: string) => callPost<{ run: string; conversation: string }>("huf.api.run.go_on", { run });
export const cancelRun = (run: string) => callPost("huf.api.run.cancel", { run });
export const signOut = () => callPost("logout");

export interface StreamOptions {
	signal: AbortSignal;
	onEvent: (kind: string, data: EventData) => void;
}

/** A reader's position in a run's events: the number of the last one. */
interface Place {
	run: string | null;
	last: number;
}

interface SilenceWatch {
	arm: () => void;
	stop: () => void;
	/** Rejects when the silence has lasted too long. */
	next: () => Promise<never>;
}

const isKind = (error: unknown, ...kinds: ErrorKind[]) => error instanceof ApiError && kinds.includes(error.kind);

/**
 * Sends a prompt and passes each event of the run to onEvent(kind, data). Resolves after the last one; rejects with
 * ApiError "cut" if the stream ends early and cannot be rejoined, and with AbortError when the signal aborts it.
 */
export async function streamRun(
	request: RunRequest,
	{ signal, onEvent }: StreamOptions,
): Promise<void> {
	const place: Place = { run: null, last: 0 };
	const response = await openStream("huf.api.chat.stream", { ...request }, signal);
	try {
		await readEvents(response, place, { signal, onEvent });
	} catch (error) {
		if (!isKind(error, "cut") || !place.run) throw error;
		await followRun(place, { signal, onEvent });
	}
}

/** Follows a run from its event `last` on, reconnecting as often as needed. Resolves and rejects as streamRun does. */
export async function followRun(place: Place, { signal, onEvent }: StreamOptions): Promise<void> {
	for (let failures = 0; ; ) {
		const before = place.last;
		try {
			const where = { run: place.run!, after: String(before) };
			return await readEvents(await openReading("huf.api.chat.rejoin", where, signal), place, { signal, onEvent });
		} catch (error) {
			failures = place.last > before ? 0 : failures + 1;
			if (!isKind(error, "cut", "network") || failures >= TRIES_MS.length) throw error;
			await new Promise((resolve) => setTimeout(resolve, TRIES_MS[failures]));
		}
	}
}

async function readEvents(response: Response, place: Place, { signal, onEvent }: StreamOptions): Promise<void> {
	if (!response.body || !(response.headers.get("content-type") || "").includes("text/event-stream")) {
		throw new ApiError("server", "", response.status);
	}
	let isFinished = false;
	const watch = createSilenceWatch();
	const parser = createSseParser({
		onComment: watch.arm,
		onMessage({ id, event, data }) {
			const parsed = parseJson(data);
			if (!parsed) return;
			isFinished ||= LAST_EVENTS.includes(event);
			Object.assign(place, { run: parsed.run || place.run, last: Number(id) || place.last });
			onEvent(event, parsed);
		},
	});
	await readAll(response.body, parser, watch, signal);
	if (!isFinished) throw new ApiError("cut");
}

async function readAll(
	body: ReadableStream<Uint8Array>,
	parser: SseParser,
	watch: SilenceWatch,
	signal: AbortSignal,
): Promise<void> {
	const reader = body.getReader();
	const decoder = new TextDecoder();
	try {
		for (;;) {
			const { done, value } = await Promise.race([reader.read(), watch.next()]);
			if (done) return;
			parser.feed(decoder.decode(value, { stream: true }));
		}
	} catch (error) {
		if (signal?.aborted || error instanceof ApiError) throw error;
		throw new ApiError("cut");
	} finally {
		watch.stop();
		reader.cancel().catch(() => {});
	}
}

function createSilenceWatch(): SilenceWatch {
	let isArmed = false;
	let timer: ReturnType<typeof setTimeout> | undefined;
	return {
		arm: () => void (isArmed = true),
		stop: () => clearTimeout(timer),
		next: () =>
			new Promise<never>((_, reject) => {
				clearTimeout(timer);
				if (isArmed) timer = setTimeout(() => reject(new ApiError("cut")), SILENCE_MS);
			}),
	};
}
