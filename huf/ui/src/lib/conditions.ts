/**
 * Converts a trigger's condition between rows of field, operator and value, and the stored Python expression. Rows have
 * numbers as readers of `locale` write them. Pure.
 */
import { readNumber, showNumber } from "./numbers.ts";

export interface ConditionRow {
	field: string;
	operator: string;
	value: string;
}

export const OPERATORS = ["is", "is_not", "contains", "above", "at_least", "below", "at_most", "set", "unset", "changed"];
/** Operators that take no value. */
export const ALONE = ["set", "unset", "changed"];
const EQUALITY: Record<string, string> = { is: "==", is_not: "!=" };
const ORDER: Record<string, string> = { above: ">", at_least: ">=", below: "<", at_most: "<=" };
const NUMBERS = ["Int", "Float", "Currency", "Percent", "Check", "Long Int", "Rating", "Duration"];
const MOMENTS = ["Date", "Datetime", "Time"];

const FIELD = "doc\\.([A-Za-z_]\\w*)";
const NUMBER = "-?\\d+(?:\\.\\d+)?";
const TEXT = "'(?:[^'\\\\\\n]|\\\\['\"\\\\n])*'|\"(?:[^\"\\\\\\n]|\\\\['\"\\\\n])*\"";
const COMPARISON = new RegExp(`^${FIELD} *(==|!=) *(${NUMBER}|${TEXT})$`);
const MEASURE = new RegExp(`^(?:${FIELD}|\\(${FIELD} or 0\\)) *(>=|<=|>|<) *(${NUMBER})$`);
const CONTAINED = new RegExp(`^(${TEXT}) in (?:${FIELD}|\\(${FIELD} or ''\\))$`);
const PRESENCE = new RegExp(`^(not )?${FIELD}$`);
const CHANGE = new RegExp(`^doc\\.has_value_changed\\((${TEXT})\\)$`);

/** The operators for a field of this type; "": its type is not known. */
export function operatorsOf(fieldtype: string): string[] {
	if (MOMENTS.includes(fieldtype)) return ALONE;
	if (NUMBERS.includes(fieldtype)) return OPERATORS.filter((each) => each !== "contains");
	return fieldtype ? OPERATORS.filter((each) => !(each in ORDER)) : OPERATORS;
}

/** Whether the value should be a number but cannot be read as one, such as 1.500,50. */
export const isUnreadable = ({ operator, value }: ConditionRow, fieldtype = "", locale = "en"): boolean =>
	readNumber(value, locale) === undefined && (operator in ORDER || (operator in EQUALITY && NUMBERS.includes(fieldtype)));

/** Whether the row has some input, but not enough; the expression omits it. */
export const isIncomplete = (row: ConditionRow, fieldtype = "", locale = "en"): boolean =>
	Boolean(row.field || row.value) && !writeRow(row, fieldtype, locale);

/** Rows as an expression; rows without a field, or without a required value, are omitted. */
export function writeCondition(rows: ConditionRow[], typeOf: (field: string) => string = () => "", locale = "en"): string {
	return rows.map((row) => writeRow(row, typeOf(row.field), locale)).filter(Boolean).join(" and ");
}

function writeRow({ field, operator, value }: ConditionRow, fieldtype: string, locale: string): string {
	if (!/^[A-Za-z_]\w*$/.test(field)) return "";
	if (operator === "set") return `doc.${field}`;
	if (operator === "unset") return `not doc.${field}`;
	if (operator === "changed") return `doc.has_value_changed(${quote(field)})`;
	const number = readNumber(value, locale);
	const isNumber = typeof number === "number";
	if (operator in ORDER) return isNumber ? `(doc.${field} or 0) ${ORDER[operator]} ${number}` : "";
	if (!value || isUnreadable({ field, operator, value }, fieldtype, locale)) return "";
	if (operator === "contains") return `${quote(value)} in (doc.${field} or '')`;
	const asNumber = isNumber && (!fieldtype || NUMBERS.includes(fieldtype));
	return `doc.${field} ${EQUALITY[operator]} ${asNumber ? number : quote(value)}`;
}

/** The rows of an expression; null if rows cannot represent it. */
export function readCondition(text: string, locale = "en"): ConditionRow[] | null {
	const parts = splitParts(text.trim());
	const rows = parts.map((part) => readRow(part, locale));
	// An empty text is a value in Python, but a missing one in a row.
	const isComplete = (row: ConditionRow | null) => row && (row.value || ALONE.includes(row.operator));
	return rows.every(isComplete) ? (rows as ConditionRow[]) : null;
}

function readRow(part: string, locale: string): ConditionRow | null {
	let found = COMPARISON.exec(part);
	if (found) return { field: found[1], operator: found[2] === "==" ? "is" : "is_not", value: showLiteral(found[3], locale) };
	found = MEASURE.exec(part);
	if (found) return { field: found[1] || found[2], operator: keyOf(ORDER, found[3]), value: showNumber(found[4], locale) };
	found = CONTAINED.exec(part);
	if (found) return { field: found[2] || found[3], operator: "contains", value: unquote(found[1]) };
	found = CHANGE.exec(part);
	if (found) return { field: unquote(found[1]), operator: "changed", value: "" };
	found = PRESENCE.exec(part);
	return found && { field: found[2], operator: found[1] ? "unset" : "set", value: "" };
}

/** Splits at "and" outside quotes. */
function splitParts(text: string): string[] {
	if (!text) return [];
	const tokens = text.match(new RegExp(`${TEXT}|\\s+and\\s+|[\\s\\S]`, "g")) || [];
	const parts = [""];
	for (const token of tokens) {
		if (/^\s+and\s+$/.test(token)) parts.push("");
		else parts[parts.length - 1] += token;
	}
	return parts.map((part) => part.trim());
}

const keyOf = (table: Record<string, string>, sign: string) => Object.keys(table).find((key) => table[key] === sign)!;
const ESCAPES: Record<string, string> = { "\\": "\\\\", "'": "\\'", "\n": "\\n" };
const quote = (text: string) => `'${text.replace(/[\\'\n]/g, (char) => ESCAPES[char])}'`;

const showLiteral = (literal: string, locale: string) => (/^['"]/.test(literal) ? unquote(literal) : showNumber(literal, locale));

function unquote(literal: string): string {
	return literal.slice(1, -1).replace(/\\(.)/g, (_, char) => (char === "n" ? "\n" : char));
}
