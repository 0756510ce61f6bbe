/** Endpoints for packs, one function each; see huf/api/pack.py. */
import { callGet, callPost } from "./http.ts";
import type { Pack, PackDetails } from "./types/setup.ts";

const CALL = "huf.api.pack.";

export const fetchPacks = () => callGet<Pack[]>(`${CALL}get_packs`);
export const fetchPack = (name: string) => callGet<PackDetails>(`${CALL}get_pack`, { name });
export const installPack = (name: string) => callPost(`${CALL}install`, { name });
export const updatePack = (name: string) => callPost(`${CALL}update`, { name });
export const removePack = (name: string, withRecords: boolean) =>
	callPost(`${CALL}remove`, { name, with_records: withRecords });
