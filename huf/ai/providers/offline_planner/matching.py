"""Finds the tools that a request names, and how well each fits. Pure; never looks at what a tool would do."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from huf.ai.providers.offline_planner.doctypes import DOCTYPES
from huf.ai.providers.offline_planner.lexicon import Word, stem
from huf.ai.providers.offline_planner.reading import FIELDS, INTO, NOUNS, Clause
from huf.ai.providers.offline_planner.tools import DOCTYPE_ARGUMENTS, Tool, Toolbox
from huf.ai.providers.offline_planner.words import Operation

FITS = 0.5
"""Share of a tool's own words that a request must have for the tool to be thought of at all."""

NAMED_WITHIN = 25
"""Words from the start in which a request names what it is about: further on it is somebody's text."""


@dataclass(frozen=True)
class Match:
	"""A tool and how well a clause names it: the share of its words found, and the place `at` to `end` they take.

	`into` counts the words before them that say something is put there ("add ... to my todos").
	"""

	tool: Tool
	share: float
	at: int
	end: int
	hits: int
	into: int = 0


def find_matches(toolbox: Toolbox, clause: Clause, operations: Sequence[Operation | None]) -> list[Match]:
	"""The tools that do one of `operations` and fit. The best comes first: named earliest, then most fully."""
	found = [match_tool(tool, clause) for tool in toolbox.tools if tool.operation in operations]
	fitting = [match for match in found if match and match.share >= FITS]
	return sorted(fitting, key=lambda m: (not m.into, m.at, -m.share, "Multiple" in m.tool.type))


def match_tool(tool: Tool, clause: Clause) -> Match | None:
	"""How a clause names what the tool works on; None if it does not."""
	if not tool.doctype and set(DOCTYPE_ARGUMENTS) & set(tool.properties):
		return match_any_doctype(tool, clause)
	found = [match for subject in tool.subjects if (match := match_subject(tool, subject, clause))]
	return max(found, key=lambda match: (match.share, -match.at), default=None)


def match_any_doctype(tool: Tool, clause: Clause) -> Match | None:
	"""For a tool that is told the DocType: the first noun whose DocType is known, and the tool made for it."""
	for at, word in enumerate(clause.words[:NAMED_WITHIN]):
		doctype = DOCTYPES.get(NOUNS.get(word.key) or "") if word.kind == "word" else None
		if doctype and not clause.verb_at <= at < clause.verb_end:
			into = words_of_into(clause, at) if clause.operation is Operation.CREATE else 0
			return Match(replace(tool, doctype=doctype), 1.0, at, at + 1, 1, into)
	return None


def match_subject(tool: Tool, subject: list[str], clause: Clause) -> Match | None:
	places: dict[str, tuple[int, float]] = {}
	for at, word in enumerate(clause.words[:NAMED_WITHIN]):
		if word.kind == "word" and not clause.verb_at <= at < clause.verb_end:
			for part in subject:
				if part not in places and (weight := likeness(part, word)):
					places[part] = (at, weight)
	if clause.implied_noun in [NOUNS.get(part) for part in subject if clause.implied_noun]:
		return Match(tool, 1.0, clause.verb_end - 1, clause.verb_end, 1)
	if not places:
		return None
	at = min(at for at, _ in places.values())
	end = max(at for at, _ in places.values()) + 1
	share = sum(weight for _, weight in places.values()) / len(subject)
	into = words_of_into(clause, at) if clause.operation is Operation.CREATE else 0
	return Match(tool, share, at, end, len(places), into)


def words_of_into(clause: Clause, at: int) -> int:
	"""How many words before a noun say that something is put into it: "to my" todos. 0 if none do."""
	lexicon = INTO[clause.language]
	return next(
		(back for back in (2, 1) if at >= back and lexicon.at(clause.words[:at], at - back)[1] == back), 0
	)


def likeness(part: str, word: Word) -> float:
	"""1 for the same word, a little less for one that means the same."""
	if stem(part) == stem(word.key):
		return 1.0
	meaning = NOUNS.get(part)
	if meaning and meaning == NOUNS.get(word.key):
		return 0.9
	field = FIELDS.get(part)
	return 0.8 if field and field == FIELDS.get(word.key) else 0.0
