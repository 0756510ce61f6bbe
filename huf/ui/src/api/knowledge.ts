/** The endpoints about knowledge, one function each. What they answer is described in huf/api/knowledge.py. */
import { callGet, callPost, request } from "./http.ts";
import type { KnowledgeItem, KnowledgeSource, Passage } from "./types/setup.ts";

const CALL = "huf.api.knowledge.";
export const SOURCE = "Knowledge Source";
/** Fields that say how far one is read. */
export const SOURCE_STATE = ["state", "error", "indexed_at"];
export const PAGE_LENGTH = 50;

export const fetchSources = () => callGet<KnowledgeSource[]>(`${CALL}get_sources`);
export const fetchItems = (source: string, start = 0) =>
	callGet<KnowledgeItem[]>(`${CALL}get_items`, { source, start, limit: PAGE_LENGTH });
export const searchKnowledge = (query: string, source: string) =>
	callPost<{ query: string; results: Passage[]; more: boolean }>(`${CALL}search`, { query, sources: source ? [source] : null, limit: 10 });
export const indexSource = (source: string) => callPost(`${CALL}index`, { source, again: true });
export const removeItem = (item: string) => callPost(`${CALL}remove_item`, { item }, true);

/** A private file of a source; reading it begins by itself. */
export async function uploadFile(source: string, file: File): Promise<void> {
	const body = new FormData();
	body.append("file", file, file.name);
	body.append("doctype", SOURCE);
	body.append("docname", source);
	body.append("is_private", "1");
	await request("/api/method/upload_file", { method: "POST", body });
}
