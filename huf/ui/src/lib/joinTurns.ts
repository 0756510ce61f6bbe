/** Merges turns that were loaded later, or again, with those on the page. */
import { addTurn, findAgentTurn, findReasoning, findTool, type Part, type Turn } from "./turns.ts";

/**
 * Prepends turns of an earlier part of a conversation. A run that spans both parts becomes one turn without repeated
 * parts. Turns of the later part stay the same objects.
 */
export function joinTurns(earlier: Turn[], later: Turn[]): Turn[] {
	const turns = [...earlier];
	for (const turn of later) {
		const before = turn.role === "agent" ? findAgentTurn(turns, turn.run) : undefined;
		if (turn.role !== "agent" || !before) {
			addTurn(turns, turn);
			continue;
		}
		turn.parts = joinParts(before.parts, turn.parts);
		turn.first = before.first ?? turn.first;
		turns[turns.indexOf(before)] = turn;
	}
	return turns;
}

function joinParts(earlier: Part[], later: Part[]): Part[] {
	const isSame = (one: Part, other: Part) =>
		one.type === "tool"
			? other.type === "tool" && one.callId === other.callId
			: other.type === one.type && one.step === other.step && one.text === other.text;
	const rest = [...later];
	const joined = earlier.map((part) => {
		const at = rest.findIndex((other) => isSame(part, other));
		if (at < 0) return part;
		const [known] = rest.splice(at, 1);
		if (part.type !== "tool" || known.type !== "tool") return known;
		return { ...known, arguments: part.arguments, effect: part.effect || known.effect };
	});
	return [...joined, ...rest];
}

/** The known turns before `turns`, if nothing is missing between. */
export function turnsBefore(known: Turn[], turns: Turn[]): Turn[] {
	const start = turns[0]?.first;
	const earlier = start ? known.filter((turn) => turn.first && turn.first < start) : [];
	return Math.max(...earlier.map((turn) => turn.last || 0)) >= start! - 1 ? earlier : [];
}

/** Replaces turns by reloaded ones, keeping what the reader has opened or begun in them. */
export function keepShown(known: Turn[], turns: Turn[]): Turn[] {
	const idOf = (turn: Turn) => `${turn.role} ${turn.run || turn.key}`;
	const shown = new Map(known.map((turn) => [idOf(turn), turn]));
	for (const turn of turns) {
		const before = shown.get(idOf(turn));
		if (!before) continue;
		shown.delete(idOf(turn));
		turn.key = before.key;
		if (turn.role === "user" && before.role === "user") turn.rewording = before.rewording;
		if (turn.role !== "agent" || before.role !== "agent") continue;
		for (const part of before.parts) {
			if (part.type === "text") continue;
			const again = part.type === "tool" ? findTool(turn, part.callId) : findReasoning(turn, part.step);
			if (again) again.isOpened = part.isOpened;
		}
	}
	return turns;
}
