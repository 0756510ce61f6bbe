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
	const label = view.numeric.indexOf(false);
	const columns = view.columns.map((name, place) => ({ name, place })).filter(({ place }) => view.numeric[place]);
	const series = columns
		.map(({ name, place }) => ({ name, values: view.rows.map((row) => Number(row[place] ?? 0)) }))
		.filter(({ values }) => values.every((value) => value >= 0) && values.some((value) => value > 0));
	if (label < 0 || !series.length) return null;
	return { labels: view.rows.map((row) => String(row[label] ?? "–")), series };
}
