/** How an agent's turn ended, as the page describes it. */
import type { AgentTurn } from "./turns.ts";

interface Ending {
	kind: "failed" | "stopped" | "cancelled" | null;
	/** Key of the reason, below "stop.". */
	reason: string;
	/** The server's details: which limit it was, how much is spent, and who can raise it. */
	detail: string;
	/** Whether a partial answer is shown above. */
	isPartial: boolean;
	/** Whether the run can continue in the background. */
	canGoOn: boolean;
}

const CONTINUED = ["max_steps", "timeout"];
/** The line above an answer that the step limit cut short is not part of the answer. */
const WARNING = /^\[WARNING: [^\]]*\]/;

export function endingOf(turn: AgentTurn): Ending {
	const { status, stop_reason: reason, error } = turn.outcome || {};
	const kind =
		status === "Stopped" ? "stopped" : status === "Cancelled" ? "cancelled" : turn.error || status === "Failed" ? "failed" : null;
	return {
		kind,
		reason: reason || "other",
		detail: error || turn.error || "",
		isPartial: turn.parts.some((part) => part.type === "text" && part.text.replace(WARNING, "").trim()),
		canGoOn: kind === "stopped" && CONTINUED.includes(reason || ""),
	};
}
