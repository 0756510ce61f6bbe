/** What runs cost, in USD. */

export interface CostGroup {
	grouped: string | null;
	runs: number;
	successes: number;
	tokens: number | null;
	cost: number | null;
	/** Runs whose cost is not fully known. */
	unpriced: number;
}

export interface Costs {
	days: { day: string; runs: number; cost: number | null; unpriced: number }[];
	groups: CostGroup[];
	month: { spent: number; forecast: number };
	/** Days after which runs are deleted, if this affects the period or the current month. */
	deleted_after: number | null;
	/** A limit of 0 is none. */
	budgets: { scope: string; holder: string; cost_limit: number; cost: number; token_limit: number; tokens: number }[];
}
