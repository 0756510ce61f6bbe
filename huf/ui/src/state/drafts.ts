/** Drafts: the number that wait for this user, pending ones and past ones. */
import type { InfiniteData } from "@tanstack/vue-query";
import { computed, reactive } from "vue";
import { countDrafts, fetchDrafts, PAGE_LENGTH } from "../api/drafts.ts";
import { fetchWaitingMails } from "../api/mail.ts";
import type { Draft } from "../api/types/drafts.ts";
import { invalidate, queryClient, useData, useList } from "./queries.ts";

const COUNT_MS = 60_000;
const MAX_PENDING = 200;
/** Without realtime, a page of drafts polls for others' answers. */
export const DRAFTS_REFRESH_MS = 30_000;
const PENDING = ["drafts", "list", "pending"];
const PAST = ["drafts", "list", "past"];
const keyOf = (draft: Draft) => draft.draft;

/** -> a ref with the number of drafts that wait for this user; 0 until it is known */
export function useWaitingCount() {
	const query = useData({ queryKey: ["drafts", "count"], queryFn: countDrafts, refetchInterval: COUNT_MS });
	return computed(() => query.data || 0);
}

/** Pending drafts of all users that this user may see -> {items, data, error} */
export function usePendingDrafts() {
	const query = useData({
		queryKey: PENDING,
		queryFn: () => fetchDrafts({ status: "Pending" }, 0, MAX_PENDING),
		refetchInterval: DRAFTS_REFRESH_MS,
	});
	return reactive({
		items: computed(() => query.data || []),
		error: computed(() => query.error),
		data: computed(() => query.data),
	});
}

/** -> a ref with the unsent replies and received mails that wait for this user */
export function useWaitingMails() {
	const query = useData({
		queryKey: ["drafts", "replies"],
		queryFn: fetchWaitingMails,
		refetchInterval: DRAFTS_REFRESH_MS,
	});
	return computed(() => query.data || []);
}

/** Drafts of any status, including answered ones. */
export const usePastDrafts = () =>
	useList({
		queryKey: PAST,
		read: (start) => fetchDrafts({}, start),
		pageLength: PAGE_LENGTH,
		keyOf,
		refetchInterval: DRAFTS_REFRESH_MS,
	});

/** Updates a draft in all caches at once; then they are reloaded. */
export function updateDraft(draft: Draft): Promise<void> {
	const update = (items: Draft[]) => items.map((item) => (keyOf(item) === keyOf(draft) ? { ...item, ...draft } : item));
	queryClient.setQueryData<Draft[]>(PENDING, (items) => items && update(items));
	queryClient.setQueryData<InfiniteData<Draft[]>>(PAST, (data) => data && { ...data, pages: data.pages.map(update) });
	queryClient.setQueryData<Draft>(["drafts", "one", keyOf(draft)], (known) => known && { ...known, ...draft });
	return invalidate("drafts");
}
