/** The endpoints about packs, one function each. What they answer is described in huf/api/pack.py. */
import { callGet, callPost } from "./http.js";

const CALL = "huf.api.pack.";

export const fetchPacks = () => callGet(`${CALL}get_packs`);
export const fetchPack = (name) => callGet(`${CALL}get_pack`, { name });
export const installPack = (name) => callPost(`${CALL}install`, { name });
export const updatePack = (name) => callPost(`${CALL}update`, { name });
export const removePack = (name, withRecords) => callPost(`${CALL}remove`, { name, with_records: withRecords });
