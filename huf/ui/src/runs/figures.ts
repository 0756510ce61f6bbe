/** Formats numbers of runs and their sums as short texts. */
import { currentLocale, hasText, t } from "../i18n/index.ts";
import { splitDetails } from "../lib/details.ts";
import { formatCost, formatDuration, formatNumber } from "../lib/format.ts";
import { isActive } from "../lib/timeline.ts";

interface Timed {
	status: string;
	duration_ms?: number | null;
}

/** A run or a model call. `total_cost` and `cost` are in US dollars; null if unknown. */
interface Priced {
	input_tokens?: number;
	output_tokens?: number;
	total_cost?: number | null;
	cost?: number | null;
}

export const money = (value?: number | null) => formatCost(value || 0, currentLocale());
export const number = (value?: number | null) => formatNumber(value, currentLocale());
/** The duration of a run or call; empty before it has ended. */
export const durationOf = ({ status, duration_ms: ms }: Timed) => (isActive(status) ? "" : formatDuration(ms, currentLocale()));

const storedCost = (call: Priced) => ("total_cost" in call ? call.total_cost : call.cost);

/** Unknown costs are called unknown, never zero; a run without a model has none. */
export function costOf(call: Priced, isOffline?: boolean): string {
	const cost = storedCost(call);
	if (cost == null) return t("run.cost.unknown");
	return isOffline ? t("run.cost.none") : money(cost);
}

export function tokensOf(call: Priced): string {
	const [input, output] = [number(call.input_tokens), number(call.output_tokens)];
	return t("run.figure.in_out", { input, output });
}

export const sumOfTokens = (call: Priced) => (call.input_tokens || 0) + (call.output_tokens || 0);

/** Tokens and costs of a run or model call in one line, without headings; empty if no model was called. */
export function usageOf(call: Priced & { offline?: boolean }): string {
	const sum = sumOfTokens(call);
	const cost = storedCost(call) == null ? t("run.cost_unknown") : costOf(call, call.offline);
	return sum ? t("runs.usage", { tokens: number(sum), cost }) : "";
}

/** The first words of a prompt, on one line. */
export function titleOf(run: { prompt?: string | null }, max = 140): string {
	const line = (run.prompt || "").replace(/\s+/g, " ").trim() || t("runs.unsaid");
	return line.length > max ? `${line.slice(0, max - 1)}…` : line;
}

/** Why a run failed or stopped, on one line: a limit's name in the reader's language, else the message of the site. */
export function reasonOf({ stop_reason: reason, error }: { stop_reason?: string | null; error?: string | null }): string {
	const known = `stop.${reason}`;
	return hasText(known) ? t(known) : splitDetails(error).text;
}
