/**
 * What the site answers, as far as pages read it. The Python functions that make these answers are named in each file of this
 * folder; times are texts in the site's time zone, "2025-03-01 10:20:30".
 */

/** Any JSON value. */
export type Json = null | boolean | number | string | Json[] | { [name: string]: Json };
export type JsonObject = { [name: string]: Json };

export type Effect = "read" | "write" | "external";
/** 0 or 1, as a Check field is stored. */
export type Check = number;

// Agents and tools

export interface ChatAgent {
	/** Who answers a new chat. */
	is_default?: boolean;
	name: string;
	description: string;
	provider: string;
	model: string;
	is_offline: boolean;
	hears: boolean;
	sees: boolean;
	/** What may be chosen instead of `model`. */
	models: { name: string; sees: boolean }[];
	tools: { name: string; description: string; effect: Effect }[];
	starters: string[];
}

export interface AgentOverview {
	name: string;
	description: string;
	disabled: Check;
	model: string;
	is_offline: boolean;
	tools: number;
	triggers: number;
	last_run: string | null;
}

export interface AgentVersion {
	at: string;
	by: string;
	text: string;
}

export interface Tool {
	name: string;
	description: string;
	types: string;
	effect: Effect;
	reference_doctype: string | null;
	requires_approval: Check;
	agents: string[];
	roles: string[];
}

export interface OpenapiOperation {
	/** "METHOD /path" */
	operation: string;
	tool: string;
	description: string;
	effect: Effect;
	requires_approval: boolean;
	base_url: string;
	headers: string[];
	left_out: string[];
	exists: boolean;
}

export interface OpenapiPreview {
	title: string;
	digest: string;
	tools: OpenapiOperation[];
	refused: { operation: string; reason: string }[];
}

export interface OpenapiImported {
	operation: string;
	tool: string;
	replaced: boolean;
	missing_headers: string[];
}

export interface ToolDryRun {
	ok: boolean;
	text: string;
	duration_ms: number;
	difference: Difference | null;
	was_sent: boolean;
}

// Runs

export type RunStatus = "Queued" | "Started" | "Waiting" | "Success" | "Stopped" | "Failed" | "Cancelled";

/** An Agent Run; the event `run_finished` has the same fields. */
/** A sentence of an answer that claims something, with the calls and documents that prove it. */
export interface Claim {
	text: string;
	confirmed: boolean;
	calls: string[];
	documents: [string, string][];
	why: string | null;
}

export interface Run {
	claims?: Claim[];
	/** Who stopped what and why, if a stop holds the run. */
	held?: string | null;
	is_undo?: 0 | 1;
	name: string;
	run: string;
	agent: string;
	status: RunStatus;
	stop_reason: string | null;
	model: string | null;
	run_as: string;
	conversation: string | null;
	parent_run: string | null;
	trigger: string | null;
	mode: string | null;
	tier: number | null;
	prompt: string | null;
	response?: string | null;
	error: string | null;
	creation: string;
	started_at: string | null;
	ended_at: string | null;
	duration_ms: number | null;
	verdict: string | null;
	verdict_note: string | null;
	steps: number;
	attempts?: number;
	input_tokens: number;
	output_tokens: number;
	cached_tokens: number;
	/** US dollars; null where the price of a call is unknown. */
	total_cost: number | null;
	reference_doctype: string | null;
	reference_name: string | null;
	offline: boolean;
}

export interface ModelCall {
	name: string;
	step: number;
	status: string;
	started_at: string | null;
	duration_ms: number | null;
	text?: string | null;
	reasoning?: string | null;
	[field: string]: unknown;
}

export interface ToolCall {
	name: string;
	step: number;
	tool: string;
	call_id: string;
	effect: Effect | null;
	status: string;
	arguments: string | null;
	result: string | null;
	error: string | null;
	started_at: string | null;
	duration_ms: number | null;
	[field: string]: unknown;
}

export interface Step {
	step: number;
	model_calls: ModelCall[];
	tool_calls: ToolCall[];
}

export interface Timeline {
	run: Run;
	steps: Step[];
	children: { name: string; agent: string; status: RunStatus }[];
	/** Runs that undid changes of this one. */
	undos: string[];
	/** Number of changes that can be undone. */
	changes: number;
}

export interface ComparedStep {
	step: number;
	same: boolean;
	left: Step | null;
	right: Step | null;
	differences: string[];
}

export interface Comparison {
	left: Run;
	right: Run;
	steps: ComparedStep[];
}

/** A run made again from one of its steps. */
export interface Rerun {
	left: Run;
	answer: string;
	error: string | null;
	status: string;
	stop_reason: string | null;
	model: string;
	usage: Pick<Run, "input_tokens" | "output_tokens" | "total_cost">;
	steps: ComparedStep[];
}

export interface RunFilters {
	agent?: string;
	status?: string;
	trigger?: string;
	user?: string;
	from_date?: string;
	to_date?: string;
	min_cost?: string;
	text?: string;
}

/** A run made again from its record. */
export interface Replayed {
	identical: boolean;
	status: string;
	stop_reason: string | null;
	steps: number;
}

// Costs, in USD

export interface CostGroup {
	grouped: string | null;
	runs: number;
	successes: number;
	tokens: number | null;
	cost: number | null;
	/** Runs whose cost is not fully known. */
	unpriced: number;
}

export interface Costs {
	days: { day: string; runs: number; cost: number | null; unpriced: number }[];
	groups: CostGroup[];
	month: { spent: number; forecast: number };
	/** A limit of 0 is none. */
	budgets: { scope: string; holder: string; cost_limit: number; cost: number; token_limit: number; tokens: number }[];
}

// Drafts

export interface FieldChange {
	fieldname: string;
	label?: string;
	before?: Json;
	after?: Json;
	provisional?: boolean;
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
	name: string | null;
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

/** What a call would do: a request, or changes of documents, other tables and what would be sent. */
export interface Difference {
	request?: ExternalRequest | null;
	changes?: DocumentChange[];
	tables?: string[];
	kept?: Record<string, number>;
}

export type DraftStatus = "Pending" | "Approved" | "Applied" | "Rejected" | "Failed" | "Expired";

/** Why a call needs a person: where untrusted content came from, and what it may have decided. */
export interface Concern {
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
	step: number;
	/** What the model said beside the call; only of one draft, not in lists. */
	text?: string;
	/** The drafts of the same turn, this one among them; only of one draft. */
	turn?: Draft[];
	[field: string]: unknown;
}

/** A message of a chat that has versions: the conversation of each, and which of them is read. */
export interface MessageVersions {
	run: string;
	at: number;
	place: number;
	conversations: string[];
}

// Conversations

export interface ConversationItem {
	name: string;
	title: string;
	agent: string;
	modified: string;
	total_messages: number;
	/** The words that a search has found. */
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
	/** Of the first message of a step whose model gave its reasoning. */
	reasoning?: string;
	run?: string | null;
	step?: number;
	tool_name?: string | null;
	tool_call_id?: string | null;
	creation?: string;
	attachments?: Attachment[];
	// Of a message about a tool call:
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
	/** Who answers: see docs/router.md. */
	route?: RouteChoice;
}

export type RouteChoice = "auto" | "chat" | "agent";

/** A live event's data; which fields it has depends on its kind. */
export interface EventData {
	run?: string;
	[field: string]: any;
}

// Triggers and mail

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
	run: { name: string; agent: string; status: string; tool_calls_log: JsonObject[] } | null;
	drafts: JsonObject[];
	events: { name: string; kind: string; creation: string; summary: string }[];
	with_person: boolean;
	categories: string[];
}

/** An unsent reply to a mail. */
export interface WaitingReply {
	name: string;
	subject: string;
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
	/** An earlier rule that takes all mail of this one. */
	blocked_by: string | null;
}

export interface Mailbox {
	name: string;
	email: string;
	enabled: Check;
	last_sync: string | null;
	last_error: string | null;
}

// Knowledge, models, packs

export interface KnowledgeSource {
	name: string;
	source_type: "Files" | "URLs" | "DocType";
	state: "New" | "Indexing" | "Ready" | "Failed";
	disabled: Check;
	counts?: Record<string, number>;
	may_change: boolean;
	[field: string]: unknown;
}

export interface KnowledgeItem {
	name: string;
	title: string;
	state: string;
	error: string | null;
	chunks: number;
}

/** A passage as a search or a tool's result has it. */
export interface Passage {
	number?: number;
	title?: string;
	name?: string;
	url?: string;
	link?: string;
	position?: string;
	source?: string;
	text?: string;
}

export interface Models {
	default: string | null;
	models: { name: string; provider: string; [field: string]: unknown }[];
	providers: { name: string; api_base: string | null; has_key: boolean; is_local: boolean }[];
}

export interface ModelCheck {
	ok: boolean;
	said: string | null;
	error: string | null;
	took_ms: number;
	tool_calls: "Native" | "By schema" | "None" | null;
	note: string;
}

export interface LocalServer {
	provider: string;
	api_base: string;
	models: string[];
}

export interface Pack {
	name: string;
	title: string;
	description: string;
	version: string | null;
	installed: string | null;
	app: string | null;
	fault: string | null;
}

export interface PackDetails extends Pack {
	brings: { doctype: string; names: string[] }[];
	people: Record<string, number>;
}

// Records of any DocType

export interface Field {
	fieldname: string;
	fieldtype: string;
	label?: string;
	description?: string;
	options?: string;
	/** A choice's name in the reader's language. */
	labels?: Record<string, string>;
	default?: any;
	hidden?: Check | boolean;
	reqd?: Check | boolean;
	read_only?: Check | boolean;
	set_only_once?: Check | boolean;
	collapsible?: Check | boolean;
	depends_on?: string;
	mandatory_depends_on?: string;
	read_only_depends_on?: string;
}

export interface Meta {
	name: string;
	label: string;
	fields: Field[];
	/** Fields of child tables, by their DocType. */
	tables: Record<string, Field[]>;
	can: Record<string, boolean>;
	is_single?: boolean;
	is_submittable?: boolean;
	title_field?: string;
	columns?: string[];
}

/** A record's or a child row's fields by name. */
export type Values = Record<string, any>;

export interface RecordAnswer {
	doc: Values;
	can: Record<string, boolean>;
	files: Attachment[];
	untrusted: string | null;
}

export interface LinkChoice {
	value: string;
	description: string;
	label?: string;
}

/** An agent's eval cases and the results of earlier evals; see huf/api/eval.py. */
export interface Evals {
	cases: { name: string; case_name: string; prompt: string | null; disabled: number; passed: number; times: number; last_run: string | null; last_fault: string | null }[];
	waiting: Values;
	evals: {
		name: string;
		creation: string;
		status: "Queued" | "Started" | "Finished" | "Failed";
		error: string | null;
		model: string;
		instructions_version: number;
		with_changes: number;
		cases: number;
		done: number;
		attempts: number;
		passed: number;
	}[];
}

/** A record that a run's calls name. */
export interface NamedRecord {
	doctype: string;
	name: string;
	title: string | null;
}

/** What huf/ai/setup/proposals.py proposes for a sentence. */
export interface Proposal {
	name: string;
	description: string;
	instructions: string;
	tools: { doctype: string; label: string; kinds: string[]; allowed: string[] }[];
	trigger: { trigger_type: string; cron?: string; reference_doctype?: string; doc_event?: string; prompt: string; run_as: string } | null;
	max_iterations: number;
	daily_cost_limit: number;
	cases: { prompt: string; doctype: string; kind: string; question: string }[];
	source: "model" | "words";
	model: string | null;
	problem: string | null;
}
