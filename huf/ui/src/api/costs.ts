/** The endpoint of the costs page; see huf/api/cost.py. */
import { callGet } from "./http.ts";
import type { Costs } from "./types/costs.ts";

export const fetchCosts = (from_date: string, to_date: string, group: string) =>
	callGet<Costs>("huf.api.cost.get_costs", { from_date, to_date, group });
