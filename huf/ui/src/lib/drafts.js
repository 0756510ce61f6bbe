/** Drafts as data: what is proposed as rows for a page, and in which words it is named. Pure. */

/**
 * A draft's difference -> {request, changes, tables, kept}
 *
 * request: {line, parts: [{key, value}]} of a call that reaches outside, else null. changes: the document that it is about
 * first, each {key, action, doctype, name, isNew, hidden, fields: [{key, label, before, after, isProvisional}], tables:
 * [{key, label, rows: [{key, idx, action, fields}]}]}; name is null where there is none yet or it may not be seen.
 */
export function readDifference({ difference, reference_doctype: doctype, reference_name: name }) {
	const { request = null, changes = [], tables = [], kept = {} } = difference || {};
	const isMain = (change) => Boolean(name) && change.doctype === doctype && change.name === name;
	const sorted = [...changes.filter(isMain), ...changes.filter((change) => !isMain(change))];
	return { request: request && readRequest(request), changes: sorted.map(readChange), tables, kept };
}

function readRequest({ method, url, headers = {}, body, tool, arguments: given }) {
	const parts = Object.entries({ headers, body, arguments: given }).map(([key, value]) => ({ key, value }));
	return { line: method ? `${method} ${url}` : tool, parts: parts.filter(({ value }) => !isNothing(value)) };
}

function isNothing(value) {
	const isEmpty = typeof value === "object" && value !== null && !Object.keys(value).length;
	return value === null || value === undefined || value === "" || isEmpty;
}

function readChange(change, at) {
	const isNew = change.action === "create";
	return {
		key: `${change.doctype} ${change.name ?? at}`,
		action: change.action,
		doctype: change.doctype,
		name: change.provisional ? null : change.name,
		isNew,
		hidden: change.hidden || 0,
		fields: change.fields.map(readField),
		tables: groupRows(change.rows || []),
	};
}

function readField({ fieldname, label, before, after, provisional }) {
	return { key: fieldname, label: label || fieldname, before, after, isProvisional: Boolean(provisional) };
}

function groupRows(rows) {
	const tables = new Map();
	for (const { fieldname, label, row, idx, action, fields } of rows) {
		if (!tables.has(fieldname))
			tables.set(fieldname, { key: fieldname, label: label || fieldname, rows: [] });
		tables.get(fieldname).rows.push({ key: row, idx, action, fields: fields.map(readField) });
	}
	return [...tables.values()];
}

/** What a draft wants to do, as {key, ...values} of a text `proposal.<key>`. */
export function headlineOf(draft) {
	const { request, changes } = readDifference(draft);
	if (request) return { key: "request", line: request.line };
	const [main, ...others] = changes;
	if (!main) return { key: "tool", tool: draft.tool };
	const { action, doctype, name } = main;
	const alike = others.length > 0 && others.every((c) => c.action === action && c.doctype === doctype);
	if (alike) return { key: `${action}.many`, doctype, count: changes.length };
	return { key: name ? action : `${action}.new`, doctype, name };
}

/** What would become of the first fields, as one line: "Priority: High, Note: …". */
export function gistOf(draft, max = 120) {
	const [main] = readDifference(draft).changes;
	const told = (main?.fields || []).filter(({ after }) => !isNothing(after));
	const line = told
		.map(({ label, after }) => `${label}: ${after}`)
		.join(", ")
		.replace(/\s+/g, " ");
	return line.length > max ? `${line.slice(0, max - 1)}…` : line;
}

/** Long values stand below one another, short ones in a line. */
export function isLong(value) {
	return typeof value === "string" && (value.length > 60 || value.includes("\n"));
}
