/** What a page reads from the site: the newest answer counts, and an error keeps what was read before it. */
import { getCurrentScope, onScopeDispose, shallowReactive } from "vue";

/** -> {data, error, isLoading, load(...)}; load never throws and gives whether it went well. */
export function createLoader(read) {
	let newest = 0;
	const loader = shallowReactive({ data: null, error: null, isLoading: false, load });

	async function load(...wish) {
		const number = ++newest;
		loader.isLoading = true;
		try {
			const data = await read(...wish);
			if (number === newest) Object.assign(loader, { data, error: null });
		} catch (error) {
			if (number === newest) loader.error = error;
		}
		if (number === newest) loader.isLoading = false;
		return number === newest && !loader.error;
	}
	return loader;
}

/**
 * A list read a page at a time: {items, hasMore, error, isLoading, isLoaded, refresh(filters), more()}. `refresh` reads
 * again as much as is shown.
 */
export function createPager(read, pageLength, keyOf = (item) => item.name) {
	let newest = 0;
	let wanted = {};
	const pager = shallowReactive({
		items: [],
		hasMore: false,
		error: null,
		isLoading: false,
		isLoaded: false,
	});

	async function take(start, merge) {
		const number = ++newest;
		pager.isLoading = true;
		try {
			const page = (await read(wanted, start)) || [];
			if (number !== newest) return;
			merge(page);
			Object.assign(pager, { error: null, isLoaded: true });
		} catch (error) {
			if (number === newest) pager.error = error;
		} finally {
			if (number === newest) pager.isLoading = false;
		}
	}

	/** Other filters begin anew; the same ones keep the older items that are shown already. */
	pager.refresh = (filters = wanted) => {
		const isSame = JSON.stringify(filters) === JSON.stringify(wanted);
		if (!isSame) Object.assign(pager, { items: [], hasMore: false, isLoaded: false });
		wanted = filters;
		return take(0, (page) => {
			const fresh = new Set(page.map(keyOf));
			const rest = page.length < pageLength ? [] : pager.items.filter((item) => !fresh.has(keyOf(item)));
			pager.items = [...page, ...rest];
			if (!rest.length) pager.hasMore = page.length === pageLength;
		});
	};
	pager.more = () =>
		take(pager.items.length, (page) => {
			const known = new Set(pager.items.map(keyOf));
			pager.items = [...pager.items, ...page.filter((item) => !known.has(keyOf(item)))];
			pager.hasMore = page.length === pageLength;
		});
	return pager;
}

/** Calls `look` again and again while the page is open and seen; `pause` gives the milliseconds, or 0 for not now. */
export function usePolling(look, pause) {
	let timer;
	let isOver = false;

	function arm() {
		clearTimeout(timer);
		const wait = pause();
		if (!isOver) timer = setTimeout(tick, wait || 1000);
	}

	async function tick() {
		if (pause() && document.visibilityState === "visible") await look();
		arm();
	}

	function onVisible() {
		if (document.visibilityState === "visible") tick();
	}

	document.addEventListener("visibilitychange", onVisible);
	arm();
	if (getCurrentScope())
		onScopeDispose(() => {
			isOver = true;
			clearTimeout(timer);
			document.removeEventListener("visibilitychange", onVisible);
		});
}
