/** Drafts: how many wait for this person, and the lists of the page. They are kept while another page is open. */
import { reactive } from "vue";
import { countDrafts, fetchDrafts, PAGE_LENGTH } from "../api/drafts.js";
import { createPager, usePolling } from "./loading.js";
import { onDraftNews, onRunNews } from "./realtime.js";

const CALM_MS = 60_000;
const MOST_PENDING = 200;
const keyOf = (draft) => draft.draft;

export const waiting = reactive({ count: 0 });
export const pending = createPager(
	(_, start) => fetchDrafts({ status: "Pending" }, start, MOST_PENDING),
	MOST_PENDING,
	keyOf,
);
/** Of any status: those that have been answered are among them. */
export const past = createPager((_, start) => fetchDrafts({}, start), PAGE_LENGTH, keyOf);

export async function countWaiting() {
	try {
		waiting.count = await countDrafts();
	} catch {
		// The pages themselves say what is wrong; the number stays as it was.
	}
}

/** Puts what is known of a draft now in the place of what was known before. */
export function renew(draft) {
	for (const list of [pending, past])
		list.items = list.items.map((item) => (keyOf(item) === keyOf(draft) ? { ...item, ...draft } : item));
}

/** Keeps the number right as long as the caller is there. */
export function useWaitingCount() {
	countWaiting();
	usePolling(countWaiting, () => CALM_MS);
	onDraftNews(countWaiting);
	// One's own run asks oneself, or goes on because somebody has answered.
	onRunNews(({ kind }) => {
		const isAnswered = waiting.count > 0 && ["run_started", "run_finished"].includes(kind);
		if (kind === "draft_created" || isAnswered) countWaiting();
	});
}
