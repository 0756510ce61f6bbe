/**
 * The arguments of a call as fields of a form, by their JSON schema, and back. What nobody has touched goes back exactly as it
 * came. Pure.
 *
 * field  {key, path, kind, label, hint, choices, was, value}
 *   kind   text | long | number | check | choice | json
 *   value  what the form shows: a text, of a check true or false
 *   choices of a choice, and what false and true stand for
 */
import { parseJson } from "./transcript.js";

const LONG = 60;

/** The fields of what is given and of what is needed; null where there is no schema to go by. */
export function toFields(schema, given) {
	return schema?.properties ? fieldsWithin(schema, given || {}, []) : null;
}

function fieldsWithin(schema, given, path) {
	const names = [...new Set([...Object.keys(given), ...(schema.required || [])])];
	return names.flatMap((name) => {
		const own = schema.properties[name] || {};
		const at = [...path, name];
		if (own.properties && isObject(given[name])) return fieldsWithin(own, given[name], at);
		return [newField(own, at, given[name])];
	});
}

/** What could be given besides: fields that are not in the form yet. */
export function spareFields(schema, fields) {
	const known = new Set(fields.map((field) => field.key));
	return spareWithin(schema, [], (path) => fields.some(({ key }) => key.startsWith(`${keyOf(path)}.`))).filter(
		(field) => !known.has(field.key),
	);
}

function spareWithin(schema, path, isOpen) {
	return Object.entries(schema.properties || {}).flatMap(([name, own]) => {
		const at = [...path, name];
		if (own.properties && isOpen(at)) return spareWithin(own, at, isOpen);
		return [newField(own, at)];
	});
}

function newField(schema, path, was) {
	const kind = kindOf(schema, was);
	const [label, ...about] = (schema.description || "").split(": ");
	const isShort = label && label.length <= 32;
	return {
		key: keyOf(path),
		path,
		kind,
		label: isShort ? label : path.at(-1),
		hint: isShort ? about.join(": ") : schema.description || "",
		choices: schema.enum || [false, true],
		was,
		value: toValue(kind, was),
	};
}

const keyOf = (path) => path.join(".");

function kindOf({ type, enum: choices }, was) {
	if (choices?.length === 2 && choices.every((choice) => choice === 0 || choice === 1)) return "check";
	if (choices) return "choice";
	const types = [type].flat().filter(Boolean);
	if (isContainer(was) || (types.length && types.every((each) => ["object", "array"].includes(each))))
		return "json";
	if (types.length === 1) {
		if (types[0] === "boolean") return "check";
		if (["integer", "number"].includes(types[0])) return "number";
	} else if (typeof was === "number") return "number";
	else if (typeof was === "boolean") return "check";
	return typeof was === "string" && (was.length > LONG || was.includes("\n")) ? "long" : "text";
}

function toValue(kind, was) {
	if (kind === "check") return Boolean(was);
	if (was === undefined || was === null) return "";
	return kind === "json" ? JSON.stringify(was, null, 2) : String(was);
}

/** -> {arguments, wrong}: `wrong` names the keys of fields that hold no such value. */
export function toArguments(fields, given) {
	const made = JSON.parse(JSON.stringify(given || {}));
	const wrong = [];
	for (const field of fields) {
		if (field.value === toValue(field.kind, field.was) && field.was !== undefined) continue;
		if (field.value === "" && field.was === undefined) continue;
		const value = fromValue(field);
		if (value === undefined) wrong.push(field.key);
		else put(made, field.path, value);
	}
	return { arguments: made, wrong };
}

/** undefined: it is no such value. */
function fromValue({ kind, value, choices }) {
	if (kind === "json") return parseJson(value);
	if (kind === "check") return choices[Number(value)];
	if (kind === "choice") return choices.find((choice) => String(choice) === value);
	if (kind === "number" && value === "") return null;
	if (kind === "number") return Number.isFinite(Number(value)) ? Number(value) : undefined;
	return value;
}

function put(target, path, value) {
	const [name, ...rest] = path;
	if (!rest.length) target[name] = value;
	else put((target[name] ??= {}), rest, value);
}

function isContainer(value) {
	return value !== null && typeof value === "object";
}

function isObject(value) {
	return isContainer(value) && !Array.isArray(value);
}
