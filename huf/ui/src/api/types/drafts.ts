/** Calls that wait for a person, and what they would change. */
import type { Effect, Json, JsonObject } from "./values.ts";

export interface FieldChange {
	fieldname: string;
	label?: string;
	fieldtype?: string;
	before?: Json;
	after?: Json;
	provisional?: boolean;
	/** Lists of the DocType show this field, or it is an amount. */
	main?: number;
}

export interface RowChange {
	fieldname: string;
	label?: string;
	row: string;
	idx: number;
	action: "add" | "change" | "remove";
	fields: FieldChange[];
}

export interface DocumentChange {
	doctype: string;
	/** The DocType's name in the reader's language. */
	label?: string;
	name: string | null;
	/** Set for a document that existed before and has a title that the reader may see. */
	title?: string;
	action: string;
	provisional?: boolean;
	hidden?: number;
	fields: FieldChange[];
	rows?: RowChange[];
}

/** A call that reaches outside the site. */
export interface ExternalRequest {
	method?: string;
	url?: string;
	tool?: string;
	headers?: JsonObject;
	body?: Json;
	arguments?: JsonObject;
	/** Set for a call that was not tried, although it writes here. */
	note?: string;
}

/** What a call would do: send a request, or change documents and other tables; `kept` counts what it would send. */
export interface Difference {
	request?: ExternalRequest | null;
	changes?: DocumentChange[];
	tables?: string[];
	kept?: Record<string, number>;
}

export type DraftStatus = "Pending" | "Approved" | "Applied" | "Rejected" | "Failed" | "Expired";

/** Why a call needs a person: where untrusted content came from, and what it may have decided. */
interface Concern {
	origins: string[];
	values: { parameter: string; value: string; origin: string | null }[];
}

export interface Draft {
	draft: string;
	run: string;
	call_id: string;
	conversation: string;
	agent: string;
	tool: string;
	effect: Effect;
	status: DraftStatus;
	user: string;
	approver: string | null;
	may_answer: boolean;
	arguments: JsonObject;
	edited_arguments: JsonObject | null;
	difference: Difference | null;
	concern: Concern | null;
	digest: string;
	reference_doctype: string | null;
	reference_name: string | null;
	creation: string;
	expires_at?: string | null;
	answered_at?: string | null;
	answered_by?: string | null;
	/** The call's result, or why it failed. */
	result?: string | null;
	step: number;
	/** The model's text with the call; set for a single draft, not in lists. */
	text?: string;
	/** The drafts of the same turn, including this one; set for a single draft, not in lists. */
	turn?: Draft[];
	[field: string]: unknown;
}

/** A message with versions: the conversation of each, and which one is shown. */
export interface MessageVersions {
	run: string;
	at: number;
	place: number;
	conversations: string[];
}
