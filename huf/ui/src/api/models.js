/** The endpoints about models and providers, one function each. What they answer is described in huf/api/model.py. */
import { callGet, callPost } from "./http.js";

const CALL = "huf.api.model.";

export const fetchModels = () => callGet(`${CALL}get_models`);
export const fetchKnownModels = (provider) => callGet(`${CALL}get_known_models`, { provider });
export const findLocal = () => callGet(`${CALL}get_local`);
export const connectModel = (wish) => callPost(`${CALL}connect`, wish);
/** One tiny real call -> {ok, said, error, took_ms} */
export const checkModel = (model) => callPost(`${CALL}check`, { model });
