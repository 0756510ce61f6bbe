/**
 * The cache of the site's responses. Every list and record that a page shows is a query; its key begins with its subject:
 * ["runs", "list", filters], ["runs", "one", name].
 */
import {
	type InfiniteData,
	type Query,
	QueryClient,
	type QueryKey,
	useInfiniteQuery,
	useQuery,
	type UseQueryOptions,
} from "@tanstack/vue-query";
import { computed, reactive } from "vue";
import type { ApiError } from "../api/errors.ts";

type DataOptions<Data> = Exclude<UseQueryOptions<Data, ApiError>, Function | { value: any }>;

interface ListOptions<Item> {
	/** May hold refs. */
	queryKey: unknown[];
	/** The page that starts at `start`; `queryKey` with the current values of its refs. */
	read: (start: number, queryKey: any) => Promise<Item[]>;
	pageLength: number;
	keyOf?: (item: Item) => string;
	refetchInterval?: number | ((query: { state: { data?: InfiniteData<Item[], number> } }) => number);
	enabled?: () => boolean;
	/** The list to show while that of a new key is read. */
	placeholderData?: (before: any) => any;
}

export const queryClient = new QueryClient({
	defaultOptions: {
		// A failure is shown at once, with a button to try again. A site on this computer is reachable without a network.
		queries: { retry: false, networkMode: "always", shallow: true },
		mutations: { networkMode: "always" },
	},
});

/** A query as one reactive object: {data, error, isFetching, refetch(), ...}. */
export const useData = <Data>(options: DataOptions<Data>) => reactive(useQuery<Data, ApiError>(options));

/** A list read a page at a time: {items, data, error, isLoadingMore, hasMore, more(), refetch()}. */
export function useList<Item extends object>({
	read,
	pageLength,
	keyOf = (item) => (item as { name: string }).name,
	...options
}: ListOptions<Item>) {
	const query = useInfiniteQuery<Item[], ApiError, InfiniteData<Item[], number>, QueryKey, number>({
		...options,
		queryFn: async ({ pageParam, queryKey }) => (await read(pageParam, queryKey)) || [],
		initialPageParam: 0,
		getNextPageParam: (last, pages) => (last.length < pageLength ? undefined : pages.flat().length),
	});
	const { data, error, refetch, fetchNextPage: more, hasNextPage: hasMore, isFetchingNextPage: isLoadingMore } = query;
	// A new item at the top moves another one to the next page, where it is loaded a second time.
	const items = computed(() => [
		...new Map((data.value?.pages.flat() || []).map((item) => [keyOf(item), item])).values(),
	]);
	return reactive({ items, data, error, isLoadingMore, hasMore, more: () => more(), refetch });
}

/** Invalidates queries; those on the page are reloaded. Resolves when they have been. */
export const invalidate = (...queryKey: unknown[]): Promise<void> => readAgain({ queryKey });

/** A record was written or deleted: queries on the page are reloaded, all others are dropped. */
export function invalidateAll(): Promise<void> {
	queryClient.removeQueries({ type: "inactive" });
	return readAgain({});
}

/**
 * A first fetch in flight is followed by another, because its response may be older than the change. Restarting it instead
 * could keep frequently changing data from ever appearing.
 */
async function readAgain(filters: { queryKey?: unknown[] }): Promise<void> {
	const isFirst = ({ state }: Query) => state.fetchStatus === "fetching" && state.data === undefined;
	const follow = async ({ promise, queryKey }: Query) => {
		await promise?.catch(() => {});
		await queryClient.refetchQueries({ queryKey, exact: true, type: "active" }, { cancelRefetch: false });
	};
	const first = queryClient.getQueryCache().findAll({ ...filters, type: "active", predicate: isFirst });
	await Promise.all([queryClient.invalidateQueries(filters), ...first.map(follow)]);
}
