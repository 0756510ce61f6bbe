/** The endpoints about agents as they are set up, and about their tools. What they answer is described in huf/api. */
import { callGet, callPost } from "./http.ts";
import type { AgentOverview, AgentVersion, JsonObject, Tool, ToolDryRun } from "./types.ts";

export const fetchOverview = () => callGet<AgentOverview[]>("huf.api.agent.get_overview");
export const fetchVersions = (agent: string) => callGet<AgentVersion[]>("huf.api.agent.get_versions", { agent });
export const fetchTools = () => callGet<Tool[]>("huf.api.tool.get_tools");
export const tryTool = (request: { tool: string; user: string; arguments: JsonObject; send?: boolean }) =>
	callPost<ToolDryRun>("huf.api.tool.try_it", request);
/** Tools for a DocType -> their names; kinds: list, read, create, update, delete */
export const makeTools = (doctype: string, kinds: string[]) =>
	callPost<string[]>("huf.api.tool.make_for", { doctype, kinds });
