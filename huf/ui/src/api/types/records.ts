/** Records of any DocType. */
import type { Attachment } from "./conversations.ts";
import type { Check } from "./values.ts";

export interface Field {
	fieldname: string;
	fieldtype: string;
	label?: string;
	description?: string;
	options?: string;
	/** A choice's label in the reader's language. */
	labels?: Record<string, string>;
	default?: any;
	hidden?: Check | boolean;
	in_list_view?: Check | boolean;
	/** JSON of a Link's filters. */
	link_filters?: string;
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
	/** Users name its records. */
	is_named?: boolean;
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
