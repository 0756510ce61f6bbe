/**
 * Builds forms from a DocType's meta (huf/ai/queries/records.py): its sections and fields, initial values, and the values
 * to send. Pure.
 */

import type { Field, Meta, Values } from "../api/types/records.ts";
import { evaluate } from "./expression.ts";
import { formatValue } from "./format.ts";
import { readNumber } from "./numbers.ts";

/** The part of a meta that a form needs. */
type FormMeta = Pick<Meta, "fields" | "tables">;

export interface Section {
	key: string;
	label: string;
	description: string;
	isFolded: boolean;
	fields: Field[];
}

const BREAKS = ["Section Break", "Column Break", "Tab Break"];
const TABLES = ["Table", "Table MultiSelect"];
const SILENT = [...BREAKS, "HTML", "Button", "Heading", "Fold", "Image", "Geolocation", "Signature", "Icon"];
const HTML = ["Text Editor", "HTML Editor"];
/** Entities that Frappe and its editor write. */
const ENTITIES: Record<string, string> = { amp: "&", lt: "<", gt: ">", quot: '"', "#39": "'", nbsp: " " };
const NUMBERS = ["Int", "Long Int", "Float", "Currency", "Percent", "Rating", "Duration"];
/** Frappe's placeholder for a stored password. */
const STARS = /^\*+$/;

/** fieldtype -> the kind of form field; others are a line of text */
type FieldKind =
	| "table"
	| "number"
	| "long"
	| "code"
	| "check"
	| "choice"
	| "link"
	| "date"
	| "moment"
	| "time"
	| "color"
	| "password"
	| "file"
	| "text";

const KINDS: Record<string, FieldKind> = {
	...Object.fromEntries(TABLES.map((type) => [type, "table"] as const)),
	...Object.fromEntries(NUMBERS.map((type) => [type, "number"] as const)),
	...Object.fromEntries(
		["Text", "Small Text", "Long Text", "Text Editor", "Markdown Editor", "HTML Editor"].map(
			(type) => [type, "long"] as const,
		),
	),
	Code: "code",
	JSON: "code",
	Check: "check",
	Select: "choice",
	Link: "link",
	"Dynamic Link": "link",
	Date: "date",
	Datetime: "moment",
	Time: "time",
	Color: "color",
	Password: "password",
	Attach: "file",
	"Attach Image": "file",
};

export const kindOf = (field: Pick<Field, "fieldtype">): FieldKind => KINDS[field.fieldtype] || "text";
export const isValue = (field: Field) => !SILENT.includes(field.fieldtype);

/**
 * Whether a form condition holds: the name of a field, or "eval:" and an expression over doc, as in the Desk. An
 * unreadable condition counts as true, so that every field stays reachable.
 */
export function holds(condition: string | undefined, doc: Values): boolean {
	if (!condition) return true;
	if (!condition.startsWith("eval:")) return isGiven(doc[condition]);
	try {
		return Boolean(evaluate(condition.slice(5), { doc }));
	} catch {
		return true;
	}
}

const isGiven = (value: unknown) => (Array.isArray(value) ? value.length > 0 : Boolean(value));

export const isShown = (field: Field, doc: Values) => !field.hidden && holds(field.depends_on, doc);
export const isNeeded = (field: Field, doc: Values) =>
	Boolean(field.reqd || (field.mandatory_depends_on && holds(field.mandatory_depends_on, doc)));
export const isFixed = (field: Field, doc: Values, isStored = false) =>
	Boolean(
		field.read_only ||
		(field.read_only_depends_on && holds(field.read_only_depends_on, doc)) ||
		(field.set_only_once && isStored),
	);

/**
 * The form's sections with their visible fields: [{key, label, description, isFolded, fields}]. Empty ones are left out;
 * `without` names fields that are shown elsewhere.
 */
export function sectionsOf(fields: Field[], doc: Values, without: string[] = []): Section[] {
	const blank = { key: "", label: "", description: "", isFolded: false, fields: [], isShown: true };
	const sections: (Section & { isShown: boolean })[] = [blank];
	for (const field of fields) {
		if (["Section Break", "Tab Break"].includes(field.fieldtype)) {
			const { fieldname: key, label = "", description = "" } = field;
			const section = { key, label, description, isFolded: Boolean(field.collapsible), fields: [] };
			sections.push({ ...section, isShown: isShown(field, doc) });
		} else if (isValue(field) && isShown(field, doc) && !without.includes(field.fieldname)) {
			sections.at(-1)!.fields.push(field);
		}
	}
	return sections.filter((section) => section.isShown && section.fields.length);
}

/** A field that takes a whole line. */
export const isWide = (field: Field) => ["table", "long", "code"].includes(kindOf(field));

/** A record's values in the form's types; a new one has its defaults. */
export function toValues(meta: FormMeta, doc: Values | null = null): Values {
	return valuesOf(meta.fields, meta.tables, doc);
}

function valuesOf(fields: Field[], tables: Meta["tables"], doc: Values | null, isRow = false): Values {
	const values: Values = doc?.name ? { name: doc.name } : {};
	for (const field of fields.filter(isValue)) {
		const name = field.fieldname;
		const kind = kindOf(field);
		if (kind === "table") values[name] = (doc?.[name] || []).map((row: Values) => rowOf(tables[field.options!], row));
		// A row is sent as a whole: stars mean that the stored password stays.
		else if (isRow && kind === "password") values[name] = doc?.[name] || "";
		else values[name] = toValue(kind, doc ? doc[name] : defaultOf(field));
	}
	return values;
}

export const rowOf = (fields: Field[], row: Values | null = null) => valuesOf(fields || [], {}, row, true);

/** Values that may be stored in the browser: without typed passwords. */
export function withoutSecrets(fields: Field[], tables: Meta["tables"], values: Values): Values {
	const kept = { ...values };
	for (const field of fields.filter(({ fieldname }) => fieldname in values)) {
		const name = field.fieldname;
		const kind = kindOf(field);
		if (kind === "password" && !STARS.test(kept[name])) delete kept[name];
		if (kind === "table") kept[name] = kept[name].map((row: Values) => withoutSecrets(tables[field.options!] || [], {}, row));
	}
	return kept;
}

/** Values kept in the browser, which keeps no passwords: rows get the stored ones, because a row is saved as a whole. */
export function restoreValues(meta: FormMeta, kept: Values, saved: Values): Values {
	const values = { ...saved, ...kept };
	for (const { fieldname } of meta.fields.filter((field) => kindOf(field) === "table")) {
		const stored = new Map<string, Values>(saved[fieldname].map((row: Values) => [row.name, row]));
		values[fieldname] = values[fieldname].map((row: Values) => ({ ...(row.name && stored.get(row.name)), ...row }));
	}
	return values;
}

function toValue(kind: FieldKind, value: any): any {
	if (kind === "check") return Number(value) || 0;
	if (value === null || value === undefined) return "";
	if (kind === "password" && STARS.test(value)) return "";
	if (kind === "number") return readNumber(value, "en") ?? value;
	if (kind === "moment") return String(value).slice(0, 19);
	if (kind === "time") return String(value).split(".")[0].padStart(8, "0");
	return typeof value === "object" ? JSON.stringify(value, null, 2) : value;
}

/** Defaults such as Today and __user are resolved by the site. */
function defaultOf({ default: value, fieldtype }: Field): any {
	if (/^(today|now|__user|user)$/i.test(value || "")) return "";
	return value ?? (fieldtype === "Rating" ? 0 : "");
}

/** Whether a password is stored: the form shows it as a hint, never as a value. */
export const isSecretStored = (field: Field, doc: Values | null) => STARS.test(doc?.[field.fieldname] || "");

/** The values to send, child rows with their names; a password that was not typed keeps the stored one. */
export function toBody(meta: FormMeta, values: Values, saved?: Values | null, locale = "en"): Values {
	const body = bodyOf(meta.fields, meta.tables, values, locale);
	if (!saved) return Object.fromEntries(Object.entries(body).filter(([, value]) => value !== null));
	const before = bodyOf(meta.fields, meta.tables, saved, locale);
	return Object.fromEntries(
		Object.entries(body).filter(([name, value]) => JSON.stringify(value) !== JSON.stringify(before[name])),
	);
}

function bodyOf(fields: Field[], tables: Meta["tables"], values: Values, locale: string): Values {
	const body: Values = {};
	for (const field of fields.filter(isValue)) {
		const value = values[field.fieldname];
		const kind = kindOf(field);
		if (kind === "password" && !value) continue;
		if (kind === "table")
			body[field.fieldname] = (value || []).map((row: Values) => {
				const own = bodyOf(tables[field.options!] || [], {}, row, locale);
				return row.name ? { name: row.name, ...own } : own;
			});
		else body[field.fieldname] = fromValue(kind, value, locale);
	}
	return body;
}

function fromValue(kind: FieldKind, value: any, locale: string): any {
	if (kind === "check") return Number(value) || 0;
	if (value === "" || value === undefined) return null;
	if (kind === "number") return readNumber(value, locale) ?? value;
	return kind === "moment" ? String(value).replace("T", " ") : value;
}

/** Required fields that are empty: checked before the request. */
export function missingOf(meta: FormMeta, values: Values): Field[] {
	return meta.fields.filter(
		(field) =>
			isValue(field) &&
			isShown(field, values) &&
			isNeeded(field, values) &&
			!isFixed(field, values) &&
			kindOf(field) !== "check" &&
			!isGiven(values[field.fieldname]),
	);
}

/** Fields, or rows with fields, whose numbers cannot be parsed: the site would read 1,50 as 150. */
export const unreadableOf = (meta: FormMeta, values: Values, locale = "en"): Field[] =>
	meta.fields.filter((field) => isUnreadable(field, values[field.fieldname], meta.tables, locale));

function isUnreadable(field: Field, value: any, tables: Meta["tables"], locale: string): boolean {
	if (kindOf(field) === "number") return readNumber(value, locale) === undefined;
	const fields = (kindOf(field) === "table" && tables[field.options!]) || [];
	return fields.some((each) => (value || []).some((row: Values) => isUnreadable(each, row[each.fieldname], {}, locale)));
}

/** Choices of a Select, or of an Autocomplete: one a line. */
export const choicesOf = (field: Field) => String(field.options || "").split("\n");
/** A choice's label in the reader's language. */
export const labelOf = (field: Field, choice: string) => field.labels?.[choice] || String(choice);

/** The only visible field of a child table, if it is a link; else null. */
export function onlyLink(fields: Field[] = []): Field | null {
	const shown = fields.filter((field) => isValue(field) && !field.hidden);
	return shown.length === 1 && shown[0].fieldtype === "Link" ? shown[0] : null;
}

/** A value of a list or a row on one line; dates and numbers as stored, or as in a language. */
export function showValue(field: Field, value: any, locale?: string): string {
	if (value === null || value === undefined || value === "") return "";
	if (kindOf(field) === "check") return Number(value) ? "✓" : "";
	if (kindOf(field) === "table") return String(value.length || "");
	if (kindOf(field) === "password") return "•••";
	if (kindOf(field) === "choice") return labelOf(field, value);
	const text = locale ? formatValue(value, field.fieldtype, locale) : String(value);
	return (HTML.includes(field.fieldtype) ? textOf(text) : text).replace(/\s+/g, " ").trim();
}

/** A field's value on a form that does not let it be changed: like `showValue`, but long texts keep their lines. */
export function showWhole(field: Field, value: any, locale?: string): string {
	const hasLines = kindOf(field) === "long" && !HTML.includes(field.fieldtype);
	return hasLines ? String(value ?? "").trim() : showValue(field, value, locale);
}

const textOf = (html: string): string =>
	html.replace(/<[^>]*>/g, " ").replace(/&(amp|lt|gt|quot|#39|nbsp);/g, (_, name) => ENTITIES[name]);

/** A record's display name: its title on one line, else its name. */
export function titleOf(meta: Pick<Meta, "fields" | "title_field">, record: Values): string {
	const field = meta.fields.find(({ fieldname }) => fieldname === meta.title_field);
	return (field && showValue(field, record[field.fieldname])) || record.name;
}
