/** Records by Frappe's REST API, and the choices of a link field. */
import { callGet, request } from "./http.ts";
import type { LinkChoice, Values } from "./types/records.ts";

function address(doctype: string, name?: string): string {
	const path = `/api/resource/${encodeURIComponent(doctype)}`;
	return name === undefined ? path : `${path}/${encodeURIComponent(name)}`;
}

async function send<Answer = Values>(url: string, method: string, body?: object): Promise<Answer> {
	const options = body && { body: JSON.stringify(body), headers: { "Content-Type": "application/json" } };
	// A deletion is also sent when the page is closed.
	const response = await request(url, { method, keepalive: method === "DELETE", ...options });
	return (await response.json()).data;
}

export const readRecord = <Doc = Values>(doctype: string, name: string) =>
	send<Doc>(address(doctype, name), "GET");
export const createRecord = <Doc = Values>(doctype: string, values: Values) =>
	send<Doc>(address(doctype), "POST", values);
/** `values` that include `modified` are refused if the record has been saved since. */
export const updateRecord = <Doc = Values>(doctype: string, name: string, values: Values) =>
	send<Doc>(address(doctype, name), "PUT", values);
export const deleteRecord = (doctype: string, name: string) =>
	send(address(doctype, name), "DELETE");

/** [{value, description, label?}] whose names contain the text. */
export async function searchLink(doctype: string, text: string, filters: object = {}): Promise<LinkChoice[]> {
	const query = { doctype, txt: text, filters: JSON.stringify(filters), page_length: 12 };
	return (await callGet("frappe.desk.search.search_link", query)) || [];
}
