/** Endpoints for runs, one function each; see huf/api/run.py. */
import { callGet, callPost } from "./http.ts";
import type { Values } from "./types/records.ts";
import type { Comparison, NamedRecord, Replayed, Rerun, Run, RunFilters, Timeline } from "./types/runs.ts";

export { cancelRun } from "./chat.ts";

export const PAGE_LENGTH = 50;

export const fetchRuns = (filters: RunFilters, start = 0) =>
	callGet<Run[]>("huf.api.run.get_runs", { ...filters, start, limit: PAGE_LENGTH });
export const fetchRun = (run: string) => callGet<Timeline>("huf.api.run.get_run", { run });
/** What the model was sent at a step of an ended run. */
export const fetchModelInput = (run: string, step: number) =>
	callGet<{ messages: Values[]; tools: { name: string; description: string; parameters: object }[] }>("huf.api.run.get_model_input", { run, step });
/** Reruns an ended run from a step, as a dry run; `edits`: new texts by the position of a message. */
export const rerunFrom = (run: string, step: number, edits: Record<string, string>) =>
	callPost<Rerun>("huf.api.run.rerun", { run, step, edits });
/** The records that the run's calls name. */
export const fetchNamedRecords = (run: string) => callGet<NamedRecord[]>("huf.api.run.get_records", { run });
export const compareRuns = (run: string, other: string) =>
	callGet<Comparison>("huf.api.run.compare", { run, other });
/** Replays an ended run from its record, without a model or a tool. */
export const replayRun = (run: string) => callPost<Replayed>("huf.api.run.replay_run", { run });
/** Stores a verdict, or removes it with ""; creates no eval case. */
export const rateRun = (run: string, verdict: "Good" | "Bad" | "", note = "") =>
	callPost<{ case: string | null; verdict: string }>("huf.api.eval.rate", { run, verdict, note });
/** Creates an eval case for the run's agent; see huf/api/eval.py. */
export const markRun = (run: string, good: boolean, note: string) =>
	callPost("huf.api.eval.mark", { run, good, note });
export const settleCall = (call: string, verdict: string) =>
	callPost("huf.api.run.settle_call", { call, verdict });
export const retryCall = (call: string) => callPost("huf.api.run.retry_call", { call });
