/** Triggers, their events, and mail. */
import type { Check, Json, JsonObject } from "./values.ts";

export interface Trigger {
	name: string;
	agent: string;
	trigger_type: string;
	disabled: Check;
	modified?: string;
	last_error?: string | null;
	next_execution?: string | null;
	last_event?: { status: string; creation: string } | null;
	[field: string]: any;
}

export interface Condition {
	text: string;
	ok: boolean | null;
	saw?: Json;
}

export interface TriggerEvent {
	name: string;
	status: "Queued" | "Fired" | "Skipped" | "Failed";
	reason?: string | null;
	checks?: Condition[];
	[field: string]: unknown;
}

export interface Explanation {
	would_fire: boolean;
	reason: string | null;
	prompt: string | null;
	checks: Condition[];
	[field: string]: unknown;
}

export interface Backtest {
	times: number;
	documents: number;
	examples: { at: string; name: string }[];
	notes: string[];
	coming?: { at: string }[];
}

export interface Mail {
	name: string;
	subject: string;
	sender: string;
	status: string;
	[field: string]: any;
}

/** One mail from arrival to answer. */
export interface MailStory {
	mail: Mail;
	rules: { rule: string; fits: boolean; checks: Condition[] }[];
	/** Without its log for a user who may not read the run. */
	run: { name: string; agent: string; status: string; tool_calls_log?: JsonObject[] } | null;
	drafts: Mail[];
	/** Addresses that the mail names besides the mailbox. */
	others: string[];
	events: { name: string; kind: string; creation: string; summary: string }[];
	with_person: boolean;
	categories: string[];
}

/** An unsent reply, or a received mail that a person has to answer. */
export interface WaitingMail {
	name: string;
	subject: string;
	direction: string;
	sender: string | null;
	sender_name: string | null;
	recipients: string;
	status: string;
	reason: string | null;
	reply_to_mail: string | null;
	creation: string;
}

export interface MailRule {
	name: string;
	position: number;
	disabled: Check;
	route: string;
	profile: string | null;
	match: JsonObject;
	/** An earlier rule that already matches all mail of this one. */
	blocked_by: string | null;
}

export interface Mailbox {
	name: string;
	email: string;
	enabled: Check;
	last_sync: string | null;
	last_error: string | null;
	auth_method: "Password" | "OAuth" | null;
	connected_user: string | null;
}
