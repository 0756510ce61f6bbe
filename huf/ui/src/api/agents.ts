/** Endpoints for the setup of agents and their tools. Responses are described in huf/api. */
import { callGet, callPost } from "./http.ts";
import type { AgentOverview, AgentsImported, AgentVersion, Proposal, Tool, ToolDryRun } from "./types/agents.ts";
import type { JsonObject } from "./types/values.ts";

export const fetchOverview = () => callGet<AgentOverview[]>("huf.api.agent.get_overview");
export const fetchVersions = (agent: string) => callGet<AgentVersion[]>("huf.api.agent.get_versions", { agent });
export const fetchTools = () => callGet<Tool[]>("huf.api.tool.get_tools");
export const tryTool = (request: { tool: string; user: string; arguments: JsonObject; send?: boolean }) =>
	callPost<ToolDryRun>("huf.api.tool.try_it", request);
/** Tools for a DocType -> their names; kinds: list, read, create, update, delete */
export const makeTools = (doctype: string, kinds: string[]) =>
	callPost<string[]>("huf.api.tool.make_for", { doctype, kinds });
/** Asks the System Managers for a DocType -> the names of those asked */
export const askForDoctype = (request: string) => callPost<string[]>("huf.api.tool.ask_for_doctype", { request });
/** A proposal of an agent from one sentence; nothing is saved. */
export const proposeAgent = (sentence: string) => callPost<Proposal>("huf.api.agent.propose", { sentence });
export const createProposed = (proposal: object) =>
	callPost<{ name: string; tools: string[]; trigger: string | null; cases: string[] }>("huf.api.agent.create_from_proposal", { proposal });
/** What another program's export would become, and which parts do not map; nothing is saved. */
export const previewImport = (content: string) => callPost<AgentsImported>("huf.api.agent_import.preview", { content });
export const importAgents = (content: string) => callPost<AgentsImported>("huf.api.agent_import.create", { content });
