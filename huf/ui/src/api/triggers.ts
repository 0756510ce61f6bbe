/** Endpoints for triggers, one function each; see huf/api/trigger.py. */
import { callGet, callPost } from "./http.ts";
import { readRecord } from "./resource.ts";
import type { Values } from "./types/records.ts";
import type { Backtest, Explanation, Trigger, TriggerEvent } from "./types/triggers.ts";

export const PAGE_LENGTH = 50;
export const EVENTS_LENGTH = 20;

export const fetchTriggers = (start = 0, agent?: string) =>
	callGet<Trigger[]>("huf.api.trigger.get_triggers", { agent, start, limit: PAGE_LENGTH });
/** A user that a trigger may run as instead of Administrator. */
export const proposeRunAs = () => callGet<string>("huf.api.trigger.propose_run_as");
export const fetchEvents = ({ trigger, status }: { trigger: string; status?: string }, start = 0) =>
	callGet<TriggerEvent[]>("huf.api.trigger.get_events", { trigger, status, start, limit: EVENTS_LENGTH });
export const setEnabled = (trigger: string, enabled: boolean) =>
	callPost<{ name: string; disabled: number; next_execution: string | null }>("huf.api.trigger.set_enabled", { trigger, enabled });
export const fireTrigger = (request: { trigger: string; key: string; document?: string; payload?: string }) =>
	callPost<TriggerEvent>("huf.api.trigger.fire", request);
export const explainDocument = (trigger: string, document?: string) =>
	callGet<Explanation>("huf.api.trigger.explain", { trigger, document });
export const backtest = (values: Values, days: number) =>
	callPost<Backtest>("huf.api.trigger.backtest", { values, days });

export const readTrigger = (name: string) => readRecord<Trigger>("Agent Trigger", name);
