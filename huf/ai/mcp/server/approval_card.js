/* The view of an MCP App: shows the change that a call waits with, and takes the answer to the server by a tool call. */
"use strict";
const texts = JSON.parse(document.getElementById("texts").textContent);
const part = (id) => document.getElementById(id);
const waiting = new Map();
let lastId = 0;
let approval = null;

function send(message) {
	window.parent.postMessage({ jsonrpc: "2.0", ...message }, "*");
}

function request(method, params) {
	const id = ++lastId;
	send({ id, method, params });
	return new Promise((resolve, reject) => waiting.set(id, { resolve, reject }));
}

function element(name, text, parent) {
	const made = document.createElement(name);
	if (text !== undefined) made.textContent = typeof text === "string" ? text : JSON.stringify(text, null, 1);
	parent.append(made);
	return made;
}

const isNothing = (value) => value === null || value === undefined || value === "";

function showFields(fields, parent) {
	const table = element("table", undefined, parent);
	for (const { label, fieldname, before, after } of fields) {
		const row = element("tr", undefined, table);
		element("th", label || fieldname, row);
		const cell = element("td", undefined, row);
		if (!isNothing(before)) element("del", before, cell);
		if (!isNothing(before) && !isNothing(after)) cell.append(" → ");
		if (!isNothing(after)) element("ins", after, cell);
	}
}

function showChange(change, parent) {
	const name = change.provisional ? "" : change.name || "";
	const called = change.title && change.title !== name ? `${change.title} (${name})` : name;
	element("h2", `${texts.actions[change.action] || change.action}: ${change.doctype} ${called}`, parent);
	showFields(change.fields || [], parent);
	for (const row of change.rows || []) {
		element("p", `${row.label || row.fieldname} ${row.idx}: ${texts.actions[row.action] || row.action}`, parent).className = "muted";
		showFields(row.fields || [], parent);
	}
	if (change.hidden) element("p", texts.hidden.replace("{0}", change.hidden), parent).className = "muted";
}

/** Every part of the difference is shown, known or not: what is approved is what is seen. */
function showDifference({ difference, arguments: given }) {
	const box = part("difference");
	box.replaceChildren();
	const { changes = [], ...others } = difference || {};
	for (const change of changes) showChange(change, box);
	const filled = Object.entries(others).filter(([, value]) => !isNothing(value) && Object.keys(value).length);
	if (filled.length) element("pre", Object.fromEntries(filled), box);
	if (!changes.length && !filled.length) element("pre", given, box);
}

function show(result) {
	const structured = result.structuredContent || {};
	approval = structured.approval || (structured.draft && structured.digest ? structured : null);
	const text = (result.content || []).map((each) => each.text || "").join("\n");
	document.body.hidden = !approval && !document.body.dataset.answered;
	part("answer").hidden = part("difference").hidden = !approval;
	part("title").textContent = approval ? texts.title.replace("{0}", approval.tool) : texts.done;
	part("message").textContent = approval && !result.isError ? "" : text;
	if (approval) showDifference(approval);
}

async function answer(approve) {
	const { draft, digest } = approval;
	const reason = part("reason").value.trim();
	const given = { draft, digest, approve, ...(reason ? { reason } : {}) };
	part("approve").disabled = part("reject").disabled = true;
	try {
		const result = await request("tools/call", { name: texts.tool, arguments: given });
		document.body.dataset.answered = "1";
		show({ ...result, structuredContent: result.structuredContent || (result.isError ? { approval } : {}) });
		if (!result.isError) request("ui/update-model-context", { content: result.content }).catch(() => {});
	} catch (error) {
		part("message").textContent = error.message;
	}
	part("approve").disabled = part("reject").disabled = false;
}

function adopt(context) {
	if (context?.theme) document.documentElement.style.colorScheme = context.theme;
	for (const [name, value] of Object.entries(context?.styles?.variables || {}))
		if (name.startsWith("--")) document.documentElement.style.setProperty(name, value);
}

const handlers = {
	"ui/notifications/tool-result": show,
	"ui/notifications/host-context-changed": adopt,
	"ui/resource-teardown": () => ({}),
	ping: () => ({}),
};

window.addEventListener("message", ({ source, data }) => {
	if (source !== window.parent || data?.jsonrpc !== "2.0") return;
	if (!data.method) {
		const { resolve, reject } = waiting.get(data.id) || {};
		waiting.delete(data.id);
		if (data.error) reject?.(new Error(data.error.message));
		else resolve?.(data.result);
		return;
	}
	const result = handlers[data.method]?.(data.params || {});
	if (data.id !== undefined) send({ id: data.id, result: result || {} });
});

part("approve").textContent = texts.approve;
part("reject").textContent = texts.reject;
part("reason").placeholder = part("reason").ariaLabel = texts.reason;
// A sandbox need not allow forms, so this is none.
part("approve").addEventListener("click", () => answer(true));
part("reject").addEventListener("click", () => answer(false));
new ResizeObserver(() => {
	const { offsetWidth: width, offsetHeight: height } = document.body;
	send({ method: "ui/notifications/size-changed", params: { width, height } });
}).observe(document.body);
request("ui/initialize", {
	appCapabilities: { availableDisplayModes: ["inline"] },
	appInfo: { name: "Huf", version: texts.version },
	protocolVersion: "2026-01-26",
}).then(({ hostContext }) => {
	adopt(hostContext);
	send({ method: "ui/notifications/initialized", params: {} });
});
