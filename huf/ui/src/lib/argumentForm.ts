/**
 * Converts the arguments of a call to form fields by their JSON schema, and back. Unedited values are returned unchanged.
 * Pure.
 */
import type { Json, JsonObject } from "../api/types/values.ts";
import { parseJson } from "./json.ts";
import { readNumber, showNumber } from "./numbers.ts";

/** The subset of JSON schema that tools use. */
export interface Schema {
	type?: string | string[];
	description?: string;
	enum?: Json[];
	properties?: Record<string, Schema>;
	required?: string[];
}

export interface ArgumentField {
	key: string;
	path: string[];
	kind: "text" | "long" | "number" | "check" | "choice" | "json";
	label: string;
	hint: string;
	/** The options of a choice; of a check, the values that false and true stand for. */
	choices: Json[];
	was: Json | undefined;
	/** The value in the form: a text, or for a check true or false. */
	value: string | boolean;
}

const LONG_CHARS = 60;

/** Fields for the given and the required values, with numbers as in `locale`; null without a schema. */
export function toFields(schema: Schema | null | undefined, given: JsonObject | null, locale = "en"): ArgumentField[] | null {
	return schema?.properties ? fieldsWithin(schema, given || {}, [], locale) : null;
}

function fieldsWithin(schema: Schema, given: JsonObject, path: string[], locale: string): ArgumentField[] {
	const names = [...new Set([...Object.keys(given), ...(schema.required || [])])];
	return names.flatMap((name) => {
		const own = schema.properties?.[name] || {};
		const at = [...path, name];
		if (own.properties && isObject(given[name])) return fieldsWithin(own, given[name] as JsonObject, at, locale);
		return [newField(own, at, given[name], locale)];
	});
}

/** Optional fields that are not in the form yet. */
export function spareFields(schema: Schema, fields: ArgumentField[]): ArgumentField[] {
	const known = new Set(fields.map((field) => field.key));
	return spareWithin(schema, [], (path) => fields.some(({ key }) => key.startsWith(`${keyOf(path)}.`))).filter(
		(field) => !known.has(field.key),
	);
}

function spareWithin(schema: Schema, path: string[], isOpen: (path: string[]) => boolean): ArgumentField[] {
	return Object.entries(schema.properties || {}).flatMap(([name, own]) => {
		const at = [...path, name];
		if (own.properties && isOpen(at)) return spareWithin(own, at, isOpen);
		return [newField(own, at)];
	});
}

function newField(schema: Schema, path: string[], was?: Json, locale = "en"): ArgumentField {
	const kind = kindOf(schema, was);
	const [label, ...about] = (schema.description || "").split(": ");
	const isShort = label && label.length <= 32;
	return {
		key: keyOf(path),
		path,
		kind,
		label: isShort ? label : path.at(-1)!,
		hint: isShort ? about.join(": ") : schema.description || "",
		choices: schema.enum || [false, true],
		was,
		value: toValue(kind, was, locale),
	};
}

const keyOf = (path: string[]) => path.join(".");

function kindOf({ type, enum: choices }: Schema, was?: Json): ArgumentField["kind"] {
	if (choices?.length === 2 && choices.every((choice) => choice === 0 || choice === 1)) return "check";
	if (choices) return "choice";
	const types = [type].flat().filter((each) => each !== undefined);
	if (isContainer(was) || (types.length && types.every((each) => ["object", "array"].includes(each))))
		return "json";
	if (types.length === 1) {
		if (types[0] === "boolean") return "check";
		if (["integer", "number"].includes(types[0])) return "number";
	} else if (typeof was === "number") return "number";
	else if (typeof was === "boolean") return "check";
	return typeof was === "string" && (was.length > LONG_CHARS || was.includes("\n")) ? "long" : "text";
}

function toValue(kind: ArgumentField["kind"], was: Json | undefined, locale: string): string | boolean {
	if (kind === "check") return Boolean(was);
	if (was === undefined || was === null) return "";
	if (typeof was === "number" && kind === "number") return showNumber(String(was), locale);
	return kind === "json" ? JSON.stringify(was, null, 2) : String(was);
}

/** -> {arguments, wrong}: `wrong` names the keys of fields that hold no such value. Numbers are read as in `locale`. */
export function toArguments(
	fields: ArgumentField[],
	given: JsonObject | null,
	locale = "en",
): { arguments: JsonObject; wrong: string[] } {
	const made: JsonObject = JSON.parse(JSON.stringify(given || {}));
	const wrong: string[] = [];
	for (const field of fields) {
		if (field.value === toValue(field.kind, field.was, locale) && field.was !== undefined) continue;
		if (field.value === "" && field.was === undefined) continue;
		const value = fromValue(field, locale);
		if (value === undefined) wrong.push(field.key);
		else put(made, field.path, value);
	}
	return { arguments: made, wrong };
}

/** undefined: the text is no such value. */
function fromValue({ kind, value, choices }: ArgumentField, locale: string): Json | undefined {
	if (kind === "json") return parseJson(String(value));
	if (kind === "check") return choices[Number(value)];
	if (kind === "choice") return choices.find((choice) => String(choice) === value);
	if (kind === "number") return readNumber(value, locale);
	return value;
}

function put(target: JsonObject, path: string[], value: Json): void {
	const [name, ...rest] = path;
	if (!rest.length) target[name] = value;
	else put((target[name] ??= {}) as JsonObject, rest, value);
}

function isContainer(value: unknown): value is object {
	return value !== null && typeof value === "object";
}

function isObject(value: unknown): value is JsonObject {
	return isContainer(value) && !Array.isArray(value);
}
