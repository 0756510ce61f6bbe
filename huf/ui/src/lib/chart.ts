/** Tables that can be shown as bars: rows with a text and a number. Pure. */
import type { Shown } from "./values.ts";

export interface ChartData {
	labels: string[];
	series: { name: string; values: number[] }[];
}

const MAX_BARS = 40;
const MIN_BARS = 2;

/** null if it is not such a table. Bars cannot show negative numbers. */
export function toChart(view: Shown): ChartData | null {
	if (view.kind !== "table" || view.rows.length < MIN_BARS || view.rows.length > MAX_BARS) return null;
	const labels = labelRows(view.columns, view.numeric, view.rows);
	const columns = view.columns.map((name, place) => ({ name, place })).filter(({ place }) => view.numeric[place]);
	const series = columns
		.map(({ name, place }) => ({ name, values: view.rows.map((row) => Number(row[place] ?? 0)) }))
		.filter(({ values }) => values.every((value) => value >= 0) && values.some((value) => value > 0));
	if (!labels || !series.length) return null;
	return { labels, series };
}

/** The first text of each row, with what else tells rows apart: the groups of a total, and different currencies. */
function labelRows(columns: string[], numeric: boolean[], rows: unknown[][]): string[] | null {
	const texts = [...columns.keys()].filter((place) => !numeric[place]);
	let labels: string[] | null = null;
	for (const place of texts) {
		const cells = rows.map((row) => String(row[place] ?? "–"));
		if (!labels) labels = cells;
		else if (countDifferent(labels) < rows.length || columns[place].endsWith("currency")) {
			if (countDifferent(cells) > 1) labels = labels.map((label, row) => `${label} · ${cells[row]}`);
		}
	}
	return labels;
}

function countDifferent(texts: string[]): number {
	return new Set(texts).size;
}
