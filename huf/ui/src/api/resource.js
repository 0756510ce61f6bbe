/** Records of the site by Frappe's REST, and the choices of a link field. */
import { callGet, request } from "./http.js";

function address(doctype, name) {
	const path = `/api/resource/${encodeURIComponent(doctype)}`;
	return name === undefined ? path : `${path}/${encodeURIComponent(name)}`;
}

async function send(url, method, body) {
	const options = body && { body: JSON.stringify(body), headers: { "Content-Type": "application/json" } };
	const response = await request(url, { method, ...options });
	return (await response.json()).data;
}

export const readRecord = (doctype, name) => send(address(doctype, name), "GET");
export const createRecord = (doctype, values) => send(address(doctype), "POST", values);
/** `values` with the record's `modified` are refused when somebody has saved it since. */
export const updateRecord = (doctype, name, values) => send(address(doctype, name), "PUT", values);
export const deleteRecord = (doctype, name) => send(address(doctype, name), "DELETE");

/** [{value, description, label?}] whose names contain the text. */
export async function searchLink(doctype, text, filters = {}) {
	const query = { doctype, txt: text, filters: JSON.stringify(filters), page_length: 12 };
	return (await callGet("frappe.desk.search.search_link", query)) || [];
}
