/** Knowledge, models and packs. */
import type { Check } from "./values.ts";

export interface KnowledgeSource {
	name: string;
	source_type: "Files" | "URLs" | "DocType";
	state: "New" | "Indexing" | "Ready" | "Failed";
	disabled: Check;
	counts?: Record<string, number>;
	may_change: boolean;
	indexed_at?: string;
	[field: string]: unknown;
}

export interface KnowledgeItem {
	name: string;
	title: string;
	state: string;
	error: string | null;
	chunks: number;
}

/** A passage in the result of a search or a tool. */
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

/** A step of a check; `ok` is null if it was not reached. */
export interface CheckStep {
	step: string;
	ok: boolean | null;
	message: string;
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
