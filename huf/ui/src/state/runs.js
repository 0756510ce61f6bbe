/** The list of runs. It is kept while a run is read, so that going back finds it as it was, at the same place. */
import { reactive } from "vue";
import { fetchRuns, PAGE_LENGTH } from "../api/runs.js";
import { parseSiteTime } from "../lib/time.js";
import { createPager } from "./loading.js";
import { boot } from "./session.js";

export const runs = createPager(
	async (filters, start) => ((await fetchRuns(filters, start)) || []).map(withTime),
	PAGE_LENGTH,
);
export const place = reactive({ top: 0 });

function withTime(run) {
	return { ...run, at: parseSiteTime(run.creation, boot.time_zone) };
}
