/** The endpoints about agents as they are set up, and about their tools. What they answer is described in huf/api. */
import { callGet, callPost } from "./http.js";

export const fetchOverview = () => callGet("huf.api.agent.get_overview");
export const fetchVersions = (agent) => callGet("huf.api.agent.get_versions", { agent });
export const fetchTools = () => callGet("huf.api.tool.get_tools");
/** {tool, user, arguments, send} -> {ok, text, duration_ms, difference, was_sent} */
export const tryTool = (wish) => callPost("huf.api.tool.try_it", wish);
/** Tools for a DocType -> their names; kinds: list, read, create, update, delete */
export const makeTools = (doctype, kinds) => callPost("huf.api.tool.make_for", { doctype, kinds });
