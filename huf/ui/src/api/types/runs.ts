/** Runs and the calls they made. */
import type { Effect } from "./values.ts";

export type RunStatus = "Queued" | "Started" | "Waiting" | "Success" | "Stopped" | "Failed" | "Cancelled";

/** A sentence of an answer that claims something, with the calls and documents that prove it. */
export interface Claim {
	text: string;
	confirmed: boolean;
	calls: string[];
	documents: [string, string][];
	why: string | null;
}

/** An Agent Run; the event `run_finished` has the same fields. */
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
	/** Usage by model. */
	models?: { provider: string; model: string; calls: number; input_tokens: number; output_tokens: number; cost: number | null }[];
	/** Number of masked values by kind. */
	masked?: Record<string, number>;
	/** Where its untrusted content came from; set on the run's own page only. */
	untrusted?: string[];
	steps: number;
	attempts?: number;
	lost_workers?: number;
	input_tokens: number;
	output_tokens: number;
	cached_tokens: number;
	/** US dollars; null where the price of a call is unknown. */
	total_cost: number | null;
	reference_doctype: string | null;
	reference_name: string | null;
	offline: boolean;
	/** The router's decision, of a run in chat. */
	route?: { route: string; escalated?: boolean; confidence: number; reasons?: string[] } | null;
	/** Whether its contents have been deleted; set on the run's own page only. */
	is_blanked?: boolean;
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

/** A rerun from one of a run's steps. */
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

/** A replay of a run from its record. */
export interface Replayed {
	identical: boolean;
	status: string;
	stop_reason: string | null;
	steps: number;
}

/** A record named in a run's calls. */
export interface NamedRecord {
	doctype: string;
	name: string;
	title: string | null;
}
