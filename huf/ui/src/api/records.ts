/** Endpoints for records of any DocType, one function each; see huf/api/record.py. */
import { callGet, callPost, request } from "./http.ts";
import type { Attachment } from "./types/conversations.ts";
import type { Meta, RecordAnswer, Values } from "./types/records.ts";
import type { CheckStep } from "./types/setup.ts";

export const PAGE_LENGTH = 50;

export const fetchMeta = (doctype: string, language: string) =>
	callGet<Meta>("huf.api.record.get_meta", { doctype, language });
export const fetchRecord = (doctype: string, name: string) =>
	callGet<RecordAnswer>("huf.api.record.get_record", { doctype, name });
/** A summary of a record; see huf/api/record.py. */
export const fetchCard = (doctype: string, name: string, language: string) =>
	callGet<{ doctype: string; title: string; fields: { label: string; value: string }[] }>("huf.api.record.get_card", {
		doctype,
		name,
		language,
	});
export const fetchDoctypes = (language: string) =>
	callGet<{ name: string; label: string }[]>("huf.api.record.get_doctypes", { language });
export const fetchRecords = (
	doctype: string,
	{ text = "", filters = {} }: { text?: string; filters?: object } = {},
	start = 0,
) =>
	callGet<(Values & { name: string })[]>("huf.api.record.get_records", {
		doctype,
		text,
		filters: JSON.stringify(filters),
		start,
		limit: PAGE_LENGTH,
	});
export const submitRecord = (doc: Values) => callPost("frappe.client.submit", { doc: JSON.stringify(doc) });
export const cancelRecord = (doctype: string, name: string) =>
	callPost("frappe.client.cancel", { doctype, name });
/** Agents then treat its content as the site's own. */
export const trustRecord = (doctype: string, name: string) =>
	callPost<{ cleared: boolean }>("huf.api.record.trust_record", { doctype, name });

/** Fetches the tools of an MCP Server Connection; `error` is the failure, if any. */
export const refreshConnection = (connection: string) =>
	callPost<{ server: string; error: string | null }>("huf.api.mcp_connection.refresh", { connection });
/** Checks a connection to an MCP server. */
export const checkConnection = (connection: string) =>
	callPost<{ ok: boolean; steps: CheckStep[] }>("huf.api.mcp_connection.check", { connection });
/** The address at which a manager signs in to the server; null if it requires none. */
export const signIn = (connection: string) =>
	callPost<string | null>("huf.api.mcp_connection.sign_in", { connection });

/** Attaches a file to a record, privately -> the File. */
export async function uploadFile(
	file: File,
	{ doctype, name, fieldname }: { doctype?: string; name?: string; fieldname?: string } = {},
): Promise<Attachment> {
	const body = new FormData();
	body.append("file", file);
	body.append("is_private", "1");
	const where = { doctype, docname: name, fieldname };
	for (const [key, value] of Object.entries(where)) if (value) body.append(key, value);
	const response = await request("/api/method/upload_file", { method: "POST", body });
	return (await response.json()).message;
}
