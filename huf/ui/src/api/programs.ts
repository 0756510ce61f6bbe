/** Endpoints for MCP clients of this site; see huf/api/mcp_diagnosis.py. */
import { callGet } from "./http.ts";
import type { CheckStep } from "./types/setup.ts";

interface McpServer {
	/** "" for the server at /mcp */
	slug: string;
	name: string;
	url: string;
}
/** Recent requests of a user's MCP client, without their contents. */
interface McpRequest {
	at: string;
	method: string;
	/** of HTTP */
	status: number;
	/** of a JSON-RPC error */
	code: number | null;
	is_error: boolean;
}
interface McpDiagnosis {
	steps: CheckStep[];
	/** oldest first */
	requests: McpRequest[];
}

export const fetchServers = () => callGet<McpServer[]>("huf.api.mcp_diagnosis.get_servers");
export const diagnose = (server: string) => callGet<McpDiagnosis>("huf.api.mcp_diagnosis.diagnose", { server });
