import assert from "node:assert/strict";
import { test } from "node:test";
import { createLoader, createPager } from "../src/state/loading.js";

const named = (...names) => names.map((name) => ({ name }));
const namesOf = (pager) => pager.items.map((item) => item.name);

test("the newest answer counts, even when an older one comes later", async () => {
	const waiting = [];
	const loader = createLoader(() => new Promise((resolve) => waiting.push(resolve)));
	const [first, second] = [loader.load(), loader.load()];
	waiting[1]("new");
	waiting[0]("old");
	assert.deepEqual(await Promise.all([first, second]), [false, true]);
	assert.equal(loader.data, "new");
});

test("an error keeps what was read before", async () => {
	const answers = ["kept", new Error("no")];
	const loader = createLoader(async () => {
		const answer = answers.shift();
		if (answer instanceof Error) throw answer;
		return answer;
	});
	await loader.load();
	assert.equal(await loader.load(), false);
	assert.deepEqual([loader.data, loader.error.message], ["kept", "no"]);
});

test("reading again keeps the older pages, and other filters begin anew", async () => {
	const pages = [named("d", "c"), named("b"), named("e", "d"), named("x")];
	const pager = createPager(async () => pages.shift(), 2);
	await pager.refresh({});
	await pager.more();
	assert.deepEqual([namesOf(pager), pager.hasMore], [["d", "c", "b"], false]);
	await pager.refresh();
	assert.deepEqual(namesOf(pager), ["e", "d", "c", "b"]);
	await pager.refresh({ status: "Failed" });
	assert.deepEqual(namesOf(pager), ["x"]);
});
