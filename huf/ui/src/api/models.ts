/** The endpoints about models and providers, one function each. What they answer is described in huf/api/model.py. */
import { callGet, callPost } from "./http.ts";
import type { LocalServer, ModelCheck, Models } from "./types/setup.ts";

const CALL = "huf.api.model.";

export const fetchModels = () => callGet<Models>(`${CALL}get_models`);
export const fetchKnownModels = (provider: string) =>
	callGet<string[]>(`${CALL}get_known_models`, { provider });
export const findLocal = () => callGet<LocalServer[]>(`${CALL}get_local`);
/** What the server itself lists. */
export const fetchServerModels = (api_base: string, api_key: string) =>
	callPost<string[]>(`${CALL}list_server_models`, { api_base, api_key });
/** Tests the model; only if it answers, it is stored. */
export const connectModel = (request: object) => callPost<ModelCheck & { model: string }>(`${CALL}connect`, request);
/** One tiny real call. */
export const checkModel = (model: string) => callPost<ModelCheck>(`${CALL}check`, { model });
