import assert from "node:assert/strict";
import { test } from "node:test";
import { toChart } from "../src/lib/chart.ts";
import { describeValue } from "../src/lib/values.ts";

const chartOf = (value) => toChart(describeValue(value));

test("rows with a text and numbers become bars, one series for each column of numbers", () => {
	const chart = chartOf({ total: 3, rows: [{ region: "North", sales: 5, cost: 2.5 }, { region: "South", sales: 0, cost: 1 }] });
	assert.deepEqual(chart, {
		labels: ["North", "South"],
		series: [
			{ name: "sales", values: [5, 0] },
			{ name: "cost", values: [2.5, 1] },
		],
	});
});

test("what has no text, no number, one row, too many rows or losses is no chart", () => {
	const rows = (count) => Array.from({ length: count }, (_, place) => ({ name: `n${place}`, qty: 1 }));
	for (const value of [[{ a: 1 }, { a: 2 }], [{ a: "x" }, { a: "y" }], rows(1), rows(41), [{ a: "x", b: -1 }, { a: "y", b: 2 }], [{ a: "x", b: 0 }, { a: "y", b: 0 }], "text", { a: 1 }])
		assert.equal(chartOf(value), null, JSON.stringify(value).slice(0, 80));
	assert.equal(chartOf(rows(40)).labels.length, 40);
});

test("rows with equal first texts or different currencies are told apart by their labels", () => {
	const total = (status, currency) => ({ status, currency, count: 1, total: 5 });
	assert.deepEqual(chartOf([total("Paid", "EUR"), total("Paid", "CZK")]).labels, ["Paid · EUR", "Paid · CZK"]);
	assert.deepEqual(chartOf([total("Paid", "EUR"), total("Open", "CZK")]).labels, ["Paid · EUR", "Open · CZK"]);
	assert.deepEqual(chartOf([total("Paid", "EUR"), total("Open", "EUR")]).labels, ["Paid", "Open"]);
	const invoices = ["A", "B"].map((name) => ({ name, customer: `of ${name}`, total: 1 }));
	assert.deepEqual(chartOf(invoices).labels, ["A", "B"]);
});
