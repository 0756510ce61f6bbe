/** The endpoint of the home page; see huf/api/home.py. */
import { callGet } from "./http.ts";
import type { Run } from "./types/runs.ts";

export interface Day {
	day: string;
	done: number;
	failed: number;
	other: number;
	/** US dollars. */
	cost: number;
	/** Runs and calls whose cost is not known. */
	unpriced: number;
}

interface Home {
	days: Day[];
	running: Run[];
	results: Run[];
	failures: Run[];
	/** null for users who do not set agents up. */
	setup: { own_agents: string[]; has_run: boolean; triggers: number; [field: string]: any } | null;
}

export const fetchHome = () => callGet<Home>("huf.api.home.get_home");
