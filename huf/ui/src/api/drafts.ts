/** Endpoints for drafts, one function each; see huf/api/draft.py. */
import { callGet, callPost } from "./http.ts";
import type { Schema } from "../lib/argumentForm.ts";
import type { Draft } from "./types/drafts.ts";
import type { JsonObject } from "./types/values.ts";

export const PAGE_LENGTH = 50;

/** Without a status: of any. */
export const fetchDrafts = (
	{ status = "", ...filters }: { status?: string; run?: string; conversation?: string } = {},
	start = 0,
	limit = PAGE_LENGTH,
) => callGet<Draft[]>("huf.api.draft.get_drafts", { status, ...filters, start, limit });
export const fetchDraft = (draft: string) => callGet<Draft & { parameters: Schema | null }>("huf.api.draft.get_draft", { draft });
export const countDrafts = () => callGet<number>("huf.api.draft.count_drafts");
/** `digest` names what was shown; `given` are other arguments. */
export const approveDraft = (draft: string, digest: string, given?: JsonObject) =>
	callPost<Partial<Draft>>("huf.api.draft.approve", { draft, digest, arguments: given });
export const rejectDraft = (draft: string, reason?: string) =>
	callPost<Partial<Draft>>("huf.api.draft.reject", { draft, reason });
