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
	conversation: string | null;
	text: string;
	attachments: Attachment[];
	/** ISO 8601 */
	at: string;
}

const MESSAGE = "unsent:";
/** Messages that a chat of this page shows: they are read from the store only after a reload. */
const shown = new Set<string>();

const place = (conversation: string | null) => conversation || "new";
const draft = (conversation: string | null) => `draft:${place(conversation)}`;

export const recallText = (conversation: string | null): string => recall(draft(conversation));

export function setText(chat: Chat, text: string): void {
	chat.text = text;
	remember(draft(chat.conversation), text);
}

/** A chat has got its conversation: the text in its field, and messages that could not be sent, belong to it. */
export function moveUnsent(chat: Chat, conversation: string): void {
	remember(draft(null), null);
	remember(draft(conversation), chat.text);
	for (const turn of chat.turns.filter(isUnaccepted)) if (turn.unsent) storeMessage(conversation, turn);
}

export function storeMessage(conversation: string | null, { key, text, attachments, at }: UserTurn): void {
	shown.add(key);
	const stored: StoredMessage = { conversation, text, attachments, at: new Date(at!).toISOString() };
	remember(MESSAGE + key, JSON.stringify(stored));
}

/** The site has accepted the message. */
export const forgetMessage = (key: string): void => remember(MESSAGE + key, null);

/** The messages of a conversation that were on their way when the page was left, oldest first. */
export function recallMessages(conversation: string | null): UserTurn[] {
	const found: UserTurn[] = [];
	for (const name of namesOf(MESSAGE)) {
		const key = name.slice(MESSAGE.length);
		const stored: StoredMessage | undefined = parseJson(recall(name));
		if (!stored || stored.conversation !== conversation || shown.has(key)) continue;
		const { text, at, attachments } = stored;
		found.push({ ...newUserTurn(text, key, { at, attachments }), unsent: "unsure" });
		shown.add(key);
	}
	return found.sort((one, other) => String(one.at).localeCompare(String(other.at)));
}

/** Moves an unsent message back to the field of a chat, before what is being written there. */
export function takeBack(chat: Chat, { key, text, attachments }: UserTurn): void {
	chat.turns = chat.turns.filter((turn) => turn.key !== key);
	forgetMessage(key);
	setText(chat, [text, chat.text].filter(Boolean).join("\n\n"));
	returnAttachments(place(chat.conversation), attachments);
}

/** Another page of this user has sent the text `before` of a draft, or a message, and removed it under this name. */
export function dropSent(chat: Chat, name: string, before: string): void {
	if (name === draft(chat.conversation) && chat.text.trim() === before.trim()) chat.text = "";
	if (!name.startsWith(MESSAGE)) return;
	chat.turns = chat.turns.filter((turn) => !(isUnaccepted(turn) && turn.unsent && name === MESSAGE + turn.key));
}

export const recallRewording = (run: string | null): string | null => recall(`edit:${run}`) || null;

/** `text`: null when the edit was sent or cancelled. */
export function setRewording(turn: UserTurn, text: string | null): void {
	turn.rewording = text;
	remember(`edit:${turn.run}`, text);
}
