import assert from "node:assert/strict";
import { test } from "node:test";
import { VueQueryPlugin } from "@tanstack/vue-query";
import { createApp, effectScope, nextTick, ref } from "vue";
import { touchConversation, useConversations } from "../src/state/conversations.ts";
import { invalidate, invalidateAll, queryClient, useData, useList } from "../src/state/queries.ts";

const app = createApp({}).use(VueQueryPlugin, { queryClient });
const named = (...names) => names.map((name) => ({ name }));
const namesOf = (list) => list.items.map((item) => item.name);

/** Runs `set` as a component's setup; the queries end with the test. */
function setUp(context, set) {
	const scope = effectScope();
	context.after(() => {
		scope.stop();
		queryClient.clear();
	});
	return scope.run(() => app.runWithContext(set));
}

async function until(isTrue) {
	for (let round = 0; round < 200 && !isTrue(); round++) await new Promise((resolve) => setTimeout(resolve, 5));
	assert.ok(isTrue(), isTrue.toString());
}

test("a list is read a page at a time, and what has moved to the next page is shown once", async (context) => {
	const pages = { 0: named("e", "d"), 2: named("d", "c"), 4: named("b") };
	const list = setUp(context, () => useList({ queryKey: ["items"], read: async (start) => pages[start], pageLength: 2 }));
	assert.deepEqual([list.data, list.items], [undefined, []]);
	await until(() => list.data);
	await list.more();
	assert.deepEqual([namesOf(list), list.hasMore], [["e", "d", "c"], true]);
	await list.more();
	assert.deepEqual([namesOf(list), list.hasMore], [["e", "d", "c", "b"], false]);
});

test("reading again keeps the pages, and other filters begin a new list", async (context) => {
	const filters = ref({});
	let all = named("d", "c", "b");
	const read = async (start, [, { status }]) => (status ? named("x") : all.slice(start, start + 2));
	const list = setUp(context, () => useList({ queryKey: ["runs", filters], read, pageLength: 2 }));
	await until(() => list.data);
	await list.more();
	all = named("e", "d", "c", "b");
	await invalidate("runs");
	assert.deepEqual(namesOf(list), ["e", "d", "c", "b"]);
	filters.value = { status: "Failed" };
	await nextTick();
	assert.deepEqual([list.data, list.items], [undefined, []]);
	await until(() => list.data);
	assert.deepEqual(namesOf(list), ["x"]);
});

test("an error keeps what was read before, and is gone when reading succeeds", async (context) => {
	const answers = ["first", new Error("no"), "second"];
	const queryFn = async () => {
		const answer = answers.shift();
		if (answer instanceof Error) throw answer;
		return answer;
	};
	const query = setUp(context, () => useData({ queryKey: ["home"], queryFn }));
	await until(() => query.data);
	await query.refetch();
	assert.deepEqual([query.data, query.error.message], ["first", "no"]);
	await query.refetch();
	assert.deepEqual([query.data, query.error], ["second", null]);
});

test("of two readings the newer one counts, even when the older one answers later", async (context) => {
	const waiting = [];
	const queryFn = () => new Promise((resolve) => waiting.push(resolve));
	const query = setUp(context, () => useData({ queryKey: ["home"], queryFn }));
	await until(() => waiting.length === 1);
	waiting[0]("first");
	await until(() => query.data === "first");
	const [older, newer] = [query.refetch(), invalidate("home")];
	await until(() => waiting.length === 3);
	waiting[2]("newer");
	waiting[1]("older");
	await Promise.all([older, newer]);
	assert.equal(query.data, "newer");
});

test("what changes while it is read for the first time is read again", async (context) => {
	for (const change of [() => invalidate("home"), invalidateAll]) {
		const waiting = [];
		const queryFn = () => new Promise((resolve) => waiting.push(resolve));
		const query = setUp(context, () => useData({ queryKey: ["home"], queryFn }));
		await until(() => waiting.length === 1);
		const changed = Promise.all([change(), change()]);
		waiting[0]("before");
		await until(() => waiting.length === 2);
		assert.equal(query.data, "before");
		waiting[1]("after");
		await changed;
		assert.deepEqual([query.data, query.error, query.isFetching, waiting.length], ["after", null, false, 2]);
		queryClient.clear();
	}
});

test("after a write the page's queries are read again and the others are dropped", async (context) => {
	let count = 0;
	const query = setUp(context, () => useData({ queryKey: ["agents"], queryFn: async () => ++count }));
	await until(() => query.data === 1);
	queryClient.setQueryData(["tools"], named("old"));
	await invalidateAll();
	assert.deepEqual([query.data, queryClient.getQueryData(["tools"])], [2, undefined]);
});

test("a conversation with a new run is at the top before the site is asked again", async (context) => {
	const stored = [
		{ name: "b", title: "B", agent: "X", modified: "2025-03-02 10:00:00" },
		{ name: "a", title: "A", agent: "X", modified: "2025-03-01 10:00:00" },
	];
	context.mock.method(globalThis, "fetch", async () => Response.json({ message: stored }));
	const history = setUp(context, useConversations);
	await until(() => history.data);
	touchConversation({ name: "a", title: "other words", agent: "X" });
	assert.deepEqual(
		history.items.map(({ name, title }) => [name, title]),
		[
			["a", "A"],
			["b", "B"],
		],
	);
	touchConversation({ name: "new", title: "New", agent: "X" });
	assert.deepEqual(namesOf(history), ["new", "a", "b"]);
});
