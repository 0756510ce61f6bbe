/** Agents, their tools and their evals. */
import type { Difference } from "./drafts.ts";
import type { Values } from "./records.ts";
import type { Check, Effect } from "./values.ts";

export interface ChatAgent {
	/** Answers new chats. */
	is_default?: boolean;
	name: string;
	description: string;
	provider: string;
	model: string;
	is_offline: boolean;
	hears: boolean;
	sees: boolean;
	/** Models that may be chosen instead of `model`. */
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

/** An import of agents; `unmapped` are lines about parts that the agents do not have. */
export interface AgentsImported {
	agents: {
		name: string;
		instructions: string;
		/** null: the site's default */
		model: string | null;
		settings: Record<string, number>;
		unmapped: string[];
	}[];
	unmapped: string[];
}
