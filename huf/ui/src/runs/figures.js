/** Formats numbers of runs and their sums as short texts. */
import { currentLocale, t } from "../i18n/index.ts";
import { formatCost, formatDuration, formatNumber } from "../lib/format.ts";
import { isActive } from "../lib/timeline.ts";

export const money = (value) => formatCost(value || 0, currentLocale());
export const number = (value) => formatNumber(value, currentLocale());
/** The duration of a run or call; empty before it has ended. */
export const durationOf = ({ status, duration_ms: ms }) => (isActive(status) ? "" : formatDuration(ms, currentLocale()));

/** Unknown costs are called unknown, never zero; a run without a model has none. */
export function costOf(call, isOffline) {
	const cost = "total_cost" in call ? call.total_cost : call.cost;
	if (cost === null || cost === undefined) return t("run.cost.unknown");
	return isOffline ? t("run.cost.none") : money(cost);
}

export function tokensOf(call) {
	const [input, output] = [call.input_tokens, call.output_tokens].map(number);
	return t("run.figure.in_out", { input, output });
}

export const sumOfTokens = (call) => (call.input_tokens || 0) + (call.output_tokens || 0);

/** The first words of a prompt, on one line. */
export function titleOf(run, max = 140) {
	const line = (run.prompt || "").replace(/\s+/g, " ").trim() || t("runs.unsaid");
	return line.length > max ? `${line.slice(0, max - 1)}…` : line;
}
