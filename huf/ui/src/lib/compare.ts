/** Compares two sides of a step, call by call. Pure. */
import type { Step, ToolCall } from "../api/types/runs.ts";
import type { Json } from "../api/types/values.ts";
import { parseJson } from "./json.ts";

const same = (left: unknown, right: unknown) => canonical(left) === canonical(right);

/** Canonical JSON, so that spaces and the order of fields make no difference. */
function canonical(text: unknown): string {
	const value = typeof text === "string" ? parseJson(text) : text;
	return value === undefined ? String(text ?? "") : JSON.stringify(sorted(value));
}

function sorted(value: Json): Json {
	if (Array.isArray(value)) return value.map(sorted);
	if (value === null || typeof value !== "object") return value;
	const names = Object.keys(value).sort();
	return Object.fromEntries(names.map((name) => [name, sorted(value[name])]));
}

export function textOf(side: Step | null): string {
	return (side?.model_calls || [])
		.map((call) => call.text)
		.filter(Boolean)
		.join("\n\n");
}

/** A step {left, right} -> {text, calls: [{left, right, tool, arguments, result}]}; true means different. */
export function pairStep({ left, right }: { left: Step | null; right: Step | null }) {
	const [before, after] = [left?.tool_calls || [], right?.tool_calls || []];
	const calls = Array.from({ length: Math.max(before.length, after.length) }, (_, place) =>
		pairCall(before[place] || null, after[place] || null),
	);
	return { text: textOf(left) !== textOf(right), calls };
}

function pairCall(left: ToolCall | null, right: ToolCall | null) {
	if (!left || !right) return { left, right, tool: true, arguments: false, result: false };
	const tool = left.tool !== right.tool;
	return {
		left,
		right,
		tool,
		arguments: !tool && !same(left.arguments, right.arguments),
		result: !tool && (left.status !== right.status || !same(left.result, right.result)),
	};
}
