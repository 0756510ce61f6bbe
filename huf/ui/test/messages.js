/** Stored messages and drafts of a run for tests. */
export const call = (id, name, args, more = {}) => ({
	name: `call-${id}`,
	role: "agent",
	kind: "Tool Call",
	content: JSON.stringify({ id, name, arguments: args }),
	tool_name: name,
	tool_call_id: id,
	run: "R1",
	...more,
});
export const result = (id, content, more = {}) => ({
	name: `result-${id}`,
	role: "agent",
	kind: "Tool Result",
	content,
	tool_call_id: id,
	run: "R1",
	...more,
});
export const said = (role, content, more = {}) => ({
	name: content,
	role,
	kind: "Message",
	content,
	run: "R1",
	...more,
});
export const draftOf = (id, status, more = {}) => ({ draft: `d${id}`, run: "R1", call_id: id, tool: "change", status, ...more });
