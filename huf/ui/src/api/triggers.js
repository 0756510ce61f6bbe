/** The endpoints about triggers, one function each. What they answer is described in huf/api/trigger.py. */
import { callGet, callPost } from "./http.js";
import { createRecord, deleteRecord, readRecord, updateRecord } from "./resource.js";

const DOCTYPE = "Agent Trigger";
export const PAGE_LENGTH = 50;
export const EVENTS_LENGTH = 20;

export const fetchTriggers = (start = 0) =>
	callGet("huf.api.trigger.get_triggers", { start, limit: PAGE_LENGTH });
export const fetchEvents = ({ trigger, status }, start = 0) =>
	callGet("huf.api.trigger.get_events", { trigger, status, start, limit: EVENTS_LENGTH });
export const setEnabled = (trigger, enabled) => callPost("huf.api.trigger.set_enabled", { trigger, enabled });
export const fireTrigger = (wish) => callPost("huf.api.trigger.fire", wish);
export const explainDocument = (trigger, document) =>
	callGet("huf.api.trigger.explain", { trigger, document });
export const backtest = (values, days) => callPost("huf.api.trigger.backtest", { values, days });

export const readTrigger = (name) => readRecord(DOCTYPE, name);
export const createTrigger = (values) => createRecord(DOCTYPE, values);
export const updateTrigger = (name, values) => updateRecord(DOCTYPE, name, values);
export const deleteTrigger = (name) => deleteRecord(DOCTYPE, name);
