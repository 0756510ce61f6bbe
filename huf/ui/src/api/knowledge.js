/** The endpoints about knowledge, one function each. What they answer is described in huf/api/knowledge.py. */
import { callGet, callPost, request } from "./http.js";
import { createRecord, deleteRecord, readRecord, updateRecord } from "./resource.js";

const CALL = "huf.api.knowledge.";
export const SOURCE = "Knowledge Source";
export const PAGE_LENGTH = 50;

export const fetchSources = () => callGet(`${CALL}get_sources`);
export const fetchItems = (source, start = 0) =>
	callGet(`${CALL}get_items`, { source, start, limit: PAGE_LENGTH });
export const searchKnowledge = (query, source) =>
	callPost(`${CALL}search`, { query, sources: source ? [source] : null, limit: 10 });
export const indexSource = (source) => callPost(`${CALL}index`, { source, again: true });
export const removeItem = (item) => callPost(`${CALL}remove_item`, { item });

export const readSource = (name) => readRecord(SOURCE, name);
export const removeSource = (name) => deleteRecord(SOURCE, name);
export const storeSource = (name, values) =>
	name ? updateRecord(SOURCE, name, values) : createRecord(SOURCE, values);

/** A private file of a source; reading it begins by itself. */
export async function uploadFile(source, file) {
	const body = new FormData();
	body.append("file", file, file.name);
	body.append("doctype", SOURCE);
	body.append("docname", source);
	body.append("is_private", "1");
	await request("/api/method/upload_file", { method: "POST", body });
}
