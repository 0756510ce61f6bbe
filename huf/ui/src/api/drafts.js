/** The endpoints about drafts, one function each. What they answer is described in huf/api/draft.py. */
import { callGet, callPost } from "./http.js";

export const PAGE_LENGTH = 50;

/** Without a status: of any. */
export const fetchDrafts = ({ status = "", ...filters } = {}, start = 0, limit = PAGE_LENGTH) =>
	callGet("huf.api.draft.get_drafts", { status, ...filters, start, limit });
export const fetchDraft = (draft) => callGet("huf.api.draft.get_draft", { draft });
export const countDrafts = () => callGet("huf.api.draft.count_drafts");
/** `digest` names what was shown; `given` are other arguments. */
export const approveDraft = (draft, digest, given) =>
	callPost("huf.api.draft.approve", { draft, digest, arguments: given });
export const rejectDraft = (draft, reason) => callPost("huf.api.draft.reject", { draft, reason });
