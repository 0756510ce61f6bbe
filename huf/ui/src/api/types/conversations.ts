/** Chats and their messages. */
import type { Run } from "./runs.ts";
import type { Effect } from "./values.ts";

export interface ConversationItem {
	name: string;
	title: string;
	agent: string;
	modified: string;
	total_messages: number;
	/** It belongs to another user. */
	is_shared?: boolean;
	/** The words that matched a search. */
	found?: string;
}

export interface Attachment {
	name: string;
	file_name: string;
	file_url: string;
	size: number;
	kind: "image" | "text";
}

export interface Message {
	name: string;
	sequence?: number;
	role: "user" | "agent" | "system";
	kind: string;
	content: string;
	/** Full name of another user who sent it. */
	author?: string;
	/** Set if this user sent it from the chat page. */
	idempotency_key?: string;
	/** Set on the first message of a step whose model returned its reasoning. */
	reasoning?: string;
	run?: string | null;
	step?: number;
	tool_name?: string | null;
	tool_call_id?: string | null;
	creation?: string;
	attachments?: Attachment[];
	// Set on messages about tool calls:
	effect?: Effect | null;
	ok?: boolean | null;
	duration_ms?: number | null;
	error?: string | null;
}

export interface StoredChat {
	conversation: { name: string; title: string; agent: string; may_write: boolean; may_share: boolean };
	messages: Message[];
	runs: Record<string, Run>;
}

export interface Share {
	user: string;
	full_name: string;
	write: boolean;
}

export interface RunRequest {
	agent: string;
	prompt: string;
	conversation?: string;
	/** Names of Files. */
	attachments?: string[];
	is_test?: boolean;
	/** One of the agent's `models`. */
	model?: string;
	/** A message that is sent again with the same key is taken once. */
	idempotency_key?: string;
	/** Who answers: see docs/router.md. */
	route?: RouteChoice;
}

export type RouteChoice = "auto" | "chat" | "agent";

/** A live event's data; which fields it has depends on its kind. */
export interface EventData {
	run?: string;
	[field: string]: any;
}
