/** Puts turns that were read later, or again, together with those that are shown. */
import { addTurn, findAgentTurn, findReasoning, findTool, type Part, type Turn } from "./turns.ts";

/**
 * Turns of an earlier part of a conversation before those of a later one. A run that lies on the border is one turn: what
 * both know of it is not repeated. Those of the later part stay the objects they are.
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

/** What is known already of the part of a conversation before `turns`, if nothing is missing between. */
export function turnsBefore(known: Turn[], turns: Turn[]): Turn[] {
	const start = turns[0]?.first;
	const earlier = start ? known.filter((turn) => turn.first && turn.first < start) : [];
	return Math.max(...earlier.map((turn) => turn.last || 0)) >= start! - 1 ? earlier : [];
}

/** Turns that were read again are shown in the place of those before: what the reader has opened or begun in them stays. */
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
