/** The endpoints about models and providers, one function each. What they answer is described in huf/api/model.py. */
import { callGet, callPost } from "./http.ts";
import type { LocalServer, ModelCheck, Models } from "./types.ts";

const CALL = "huf.api.model.";

export const fetchModels = () => callGet<Models>(`${CALL}get_models`);
export const fetchKnownModels = (provider: string) =>
	callGet<string[]>(`${CALL}get_known_models`, { provider });
export const findLocal = () => callGet<LocalServer[]>(`${CALL}get_local`);
export const connectModel = (request: object) => callPost<string>(`${CALL}connect`, request);
/** One tiny real call. */
export const checkModel = (model: string) => callPost<ModelCheck>(`${CALL}check`, { model });
