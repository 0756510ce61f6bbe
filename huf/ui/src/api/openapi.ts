/** Endpoints that make tools from an OpenAPI document; see huf/ai/setup/openapi_import.py. */
import { callPost } from "./http.ts";
import type { OpenapiImported, OpenapiPreview } from "./types/agents.ts";

/** Where the document comes from, `url` or `content`, and how its tools are called. */
interface OpenapiSource {
	url: string;
	content: string;
	base_url: string;
	prefix: string;
	allow_private: boolean;
}

interface OpenapiChoice {
	operations: string[];
	digest: string;
	headers: Record<string, string>;
	replace: string[];
}

/** The tools that would be made, and the operations that cannot become tools; nothing is saved. */
export const previewOpenapi = (source: OpenapiSource) => callPost<OpenapiPreview>("huf.api.openapi.preview", source);
export const importOpenapi = (source: OpenapiSource, choice: OpenapiChoice) =>
	callPost<OpenapiImported[]>("huf.api.openapi.create", { ...source, ...choice });
