/** Endpoints for models and providers, one function each; see huf/api/model.py. */
import { callGet, callPost } from "./http.ts";
import type { LocalServer, ModelCheck, Models } from "./types/setup.ts";

const CALL = "huf.api.model.";

export const fetchModels = () => callGet<Models>(`${CALL}get_models`);
export const fetchKnownModels = (provider: string) =>
	callGet<string[]>(`${CALL}get_known_models`, { provider });
export const findLocal = () => callGet<LocalServer[]>(`${CALL}get_local`);
/** The models that the server lists. */
export const fetchServerModels = (api_base: string, api_key: string) =>
	callPost<string[]>(`${CALL}list_server_models`, { api_base, api_key });
/** Tests the model and stores it if it answers. */
export const connectModel = (request: object) => callPost<ModelCheck & { model: string }>(`${CALL}connect`, request);
/** Tests a stored model with one short call. */
export const checkModel = (model: string) => callPost<ModelCheck>(`${CALL}check`, { model });
