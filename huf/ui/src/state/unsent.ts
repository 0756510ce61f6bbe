/**
 * What this user has written and the site has not accepted yet: the text of each chat's field, edits that are open, and
 * messages on their way. All of it is stored in this browser, so that a reload loses nothing.
 */
import type { Attachment } from "../api/types/conversations.ts";
import { parseJson } from "../lib/json.ts";
import { isUnaccepted, newUserTurn, type UserTurn } from "../lib/turns.ts";
import { returnAttachments } from "./attachments.ts";
import type { Chat } from "./chats.ts";
import { namesOf, recall, remember } from "./storage.ts";

/** A message on its way, as it is stored. */
interface StoredMessage {
	/** See `place`. */
	chat: string;
	text: string;
	attachments: Attachment[];
	/** ISO 8601 */
	at: string;
}

/** An earlier attempt to send a message. */
export type Sent = Pick<UserTurn, "key" | "unsent">;

const MESSAGE = "unsent:";
/** Values that could not be stored: the browser asks before the page is left. */
const unstored = new Set<string>();

function keep(name: string, value: string | null): void {
	if (remember(name, value)) unstored.delete(name);
	else unstored.add(name);
}

globalThis.addEventListener?.("beforeunload", (event) => unstored.size && event.preventDefault());

/** Messages that a chat of this page shows: they are read from the store only after a reload. */
const shown = new Set<string>();

const address = new URLSearchParams(globalThis.location?.search);
/** Whether this is the chat beside an agent's form, which is not listed among the chats. */
export const IS_TEST = address.has("test");
/** The chat without a conversation. What is written beside an agent's form is meant for that agent only. */
export const NEW = IS_TEST ? `test:${address.get("agent")}` : "new";
const place = (conversation: string | null) => conversation || NEW;
const draft = (conversation: string | null) => `draft:${place(conversation)}`;

export const recallText = (conversation: string | null): string => recall(draft(conversation));

/** Sending or clearing this page's text keeps a different text that another page of this user has stored. */
export function setText(chat: Chat, text: string): void {
	const name = draft(chat.conversation);
	if (text || recall(name) === chat.text || unstored.has(name)) keep(name, text);
	chat.text = text;
}

/** A chat has got its conversation: the text in its field, and messages that could not be sent, belong to it. */
export function moveUnsent(chat: Chat, conversation: string): void {
	if (recall(draft(null)) === chat.text || unstored.has(draft(null))) keep(draft(null), null);
	keep(draft(conversation), chat.text);
	for (const turn of chat.turns.filter(isUnaccepted)) if (turn.unsent) storeMessage(conversation, turn);
}

export function storeMessage(conversation: string | null, { key, text, attachments, at }: UserTurn): void {
	shown.add(key);
	const stored: StoredMessage = { chat: place(conversation), text, attachments, at: new Date(at!).toISOString() };
	keep(MESSAGE + key, JSON.stringify(stored));
}

/** The site has accepted the message. */
export const forgetMessage = (key: string): void => keep(MESSAGE + key, null);

/** The messages of a conversation that were on their way when the page was left, oldest first. */
export function recallMessages(conversation: string | null): UserTurn[] {
	const found: UserTurn[] = [];
	for (const name of namesOf(MESSAGE)) {
		const key = name.slice(MESSAGE.length);
		const stored: StoredMessage | undefined = parseJson(recall(name));
		if (!stored || stored.chat !== place(conversation) || shown.has(key)) continue;
		const { text, at, attachments } = stored;
		found.push({ ...newUserTurn(text, key, { at, attachments }), unsent: "unsure" });
		shown.add(key);
	}
	return found.sort((one, other) => String(one.at).localeCompare(String(other.at)));
}

/** Moves an unsent message from a chat back to its field, or to that of another one, before what is being written there. */
export function takeBack(from: Chat, { key, text, attachments, unsent }: UserTurn, to = from): void {
	from.turns = from.turns.filter((turn) => turn.key !== key);
	forgetMessage(key);
	remember(returned(to), JSON.stringify({ key, unsent, said: saidIn(text, attachments) }));
	setText(to, [text, to.text].filter(Boolean).join("\n\n"));
	returnAttachments(place(to.conversation), attachments);
}

const returned = (chat: Chat) => `returned:${place(chat.conversation)}`;
const saidIn = (text: string, files: Attachment[]) => JSON.stringify([text, files.map(({ name }) => name)]);

/** The message that was taken back to the field and is sent from there unchanged: it may have reached the site before. */
export function takeReturned(chat: Chat, text: string, files: Attachment[] = []): Sent | undefined {
	const { said, ...sent } = parseJson(recall(returned(chat))) || {};
	remember(returned(chat), null);
	return said === saidIn(text, files) ? sent : undefined;
}

/** Another page of this user has sent the text `before` of a draft, or a message, and removed it under this name. */
export function dropSent(chat: Chat, name: string, before: string): void {
	if (name === draft(chat.conversation) && chat.text.trim() === before.trim()) chat.text = "";
	if (name.startsWith(MESSAGE)) dropUnsent(chat, new Set([name.slice(MESSAGE.length)]));
}

/** Removes unsent messages, by their keys, which have reached the site after all, from a chat. */
export function dropUnsent(chat: Chat, keys: Set<string | undefined>): void {
	const left = chat.turns.filter((turn) => !(isUnaccepted(turn) && turn.unsent && keys.has(turn.key)));
	if (left.length === chat.turns.length) return;
	chat.turns = left;
	if (!left.some(isUnaccepted)) chat.problem = null;
}

/** The chat is no longer shown: if it is opened again, its messages are read from the store. */
export function release(chat: Chat): void {
	for (const { key } of chat.turns.filter(isUnaccepted)) shown.delete(key);
}

/** What was written in a chat that is gone returns to the field of a new chat. */
export function moveToNew(gone: Chat, fresh: Chat): void {
	const { text } = gone;
	setText(gone, "");
	if (text) setText(fresh, [text, fresh.text].filter(Boolean).join("\n\n"));
	for (const turn of gone.turns.filter(isUnaccepted).reverse()) takeBack(fresh, turn);
	gone.turns = [];
}

export const recallRewording = (run: string | null): string | null => recall(`edit:${run}`) || null;

/** `text`: null when the edit was sent or cancelled. */
export function setRewording(turn: UserTurn, text: string | null): void {
	turn.rewording = text;
	keep(`edit:${turn.run}`, text);
}
