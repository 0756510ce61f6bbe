/** The endpoints about runs, one function each. What they answer is described in huf/api/run.py. */
import { callGet, callPost } from "./http.js";

export { cancelRun } from "./chat.js";

export const PAGE_LENGTH = 50;

export const fetchRuns = (filters, start = 0) =>
	callGet("huf.api.run.get_runs", { ...filters, start, limit: PAGE_LENGTH });
export const fetchRun = (run) => callGet("huf.api.run.get_run", { run });
export const compareRuns = (run, other) => callGet("huf.api.run.compare", { run, other });
/** Makes a case of the run's agent; see huf/api/eval.py. */
export const markRun = (run, good, note) => callPost("huf.api.eval.mark", { run, good, note });
export const settleCall = (call, verdict) => callPost("huf.api.run.settle_call", { call, verdict });
export const retryCall = (call) => callPost("huf.api.run.retry_call", { call });
