/** Endpoints for knowledge, one function each; see huf/api/knowledge.py. */
import { callGet, callPost } from "./http.ts";
import { uploadFile } from "./records.ts";
import type { KnowledgeItem, KnowledgeSource, Passage } from "./types/setup.ts";

const CALL = "huf.api.knowledge.";
export const SOURCE = "Knowledge Source";
/** Fields with the progress of indexing. */
export const SOURCE_STATE = ["state", "error", "indexed_at"];
export const PAGE_LENGTH = 50;

export const fetchSources = () => callGet<KnowledgeSource[]>(`${CALL}get_sources`);
export const fetchItems = (source: string, start = 0) =>
	callGet<KnowledgeItem[]>(`${CALL}get_items`, { source, start, limit: PAGE_LENGTH });
export const searchKnowledge = (query: string, source: string) =>
	callPost<{ query: string; results: Passage[]; more: boolean }>(`${CALL}search`, { query, sources: source ? [source] : null, limit: 10 });
export const indexSource = (source: string) => callPost(`${CALL}index`, { source, again: true });
export const removeItem = (item: string) => callPost(`${CALL}remove_item`, { item }, true);

/** Adds a private file to a source; indexing starts by itself. */
export const addSourceFile = (source: string, file: File) => uploadFile(file, { doctype: SOURCE, name: source });
