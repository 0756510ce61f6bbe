/** Endpoints for eval cases, one function each; see huf/api/eval.py. */
import { callGet, callPost } from "./http.ts";
import type { Evals } from "./types/agents.ts";

export const fetchEvals = (agent: string) => callGet<Evals>("huf.api.eval.get_cases", { agent });
export const runCases = (agent: string, times: number) =>
	callPost<{ enqueued: boolean; eval: string }>("huf.api.eval.run", { agent, times });
export const discardChanges = (agent: string) => callPost("huf.api.eval.discard_changes", { agent });
