/** Endpoints of the stop switch; see huf/api/stop.py. */
import { callGet, callPost } from "./http.ts";

export interface Stop {
	name: string;
	scope: string;
	target: string | null;
	reason: string;
	stopped_by: string;
	stopped_at: string;
}

export const fetchStops = () => callGet<Stop[]>("huf.api.stop.get_stops");
export const stopAll = (reason: string) => callPost("huf.api.stop.stop", { scope: "All", reason });
export const releaseStop = (stop: string) => callPost("huf.api.stop.release", { stop });
