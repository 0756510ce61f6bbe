"""Search in the office's records, as far as the user may read them: plain queries, ranked here. Gives citations, no documents.

A citation: {citation, title, excerpt, score, doctype, name, url}; `score` is from 0 to 1. Words are looked for by their
beginnings, so that Kündigungen finds Kündigung.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import frappe

from huf.ai.core.errors import ToolError
from huf.ai.tools.fields import readable_fields

MAX_RESULTS, MAX_LOOKED_AT = 20, 100
MAX_WORDS, MAX_OF_A_WORD = 12, 10_000
"""Words of a query that are looked for, and rows that one of them is looked for in."""
EXCERPT = 240
"""Characters of a citation's excerpt."""
SHORT_STEM = 4
ENDINGS = re.compile(r"(ungen|en|er|es|em|ns|n|e|s)$")
LITTLE_WORDS = frozenset(
	"aus auf bei der die das dem den des ein eine einem einen einer eines für gegen hat ich ist mit nach nicht ob oder und "
	"unter vom von vor was wegen welche welcher welches wenn wer wie wird zu zum zur über".split()
)


@dataclass(frozen=True)
class Place:
	"""Where is looked: fields with their weights, the one that an excerpt is of, and how a row is cited."""

	doctype: str
	weights: Mapping[str, float]
	excerpt: str
	cite: Callable[[Mapping], str]
	more: Sequence[str] = ()


def find(places: Iterable[Place], query: str, limit: int, filters: Mapping | None = None) -> dict:
	"""{query, results: [the best citations of all places, best first]}. Raises ToolError for a query without words."""
	words = stems(query)
	if not words:
		raise ToolError("Say in words what to look for.")
	found = [each for place in places for each in search(place, words, filters)]
	found.sort(key=lambda each: (-each["score"], each["citation"]))
	return {"query": query, "results": found[: max(1, min(limit, MAX_RESULTS))]}


def search(place: Place, words: Sequence[str], filters: Mapping | None = None) -> list[dict]:
	readable = set(readable_fields(place.doctype))
	weights = {field: weight for field, weight in place.weights.items() if field in readable}
	shown = [
		field for field in dict.fromkeys(["name", *weights, place.excerpt, *place.more]) if field in readable
	]
	names = candidates(place.doctype, list(weights), words[:MAX_WORDS], dict(filters or {}))
	rows = names and frappe.get_list(
		place.doctype, {"name": ["in", names]}, shown, order_by="name asc", limit_page_length=0
	)
	return [citation(place, row, score(row, weights, words), words) for row in rows]


def candidates(doctype: str, fields: Sequence[str], words: Sequence[str], filters: Mapping) -> list[str]:
	"""Names of rows that have most of the words. Of a word that many rows have, the rare ones beside it decide."""
	having: Counter[str] = Counter()
	for word in words:
		alternatives = [[doctype, field, "like", f"%{word}%"] for field in fields]
		found = alternatives and frappe.get_list(
			doctype,
			filters,
			or_filters=alternatives,
			pluck="name",
			order_by="modified desc",
			limit_page_length=MAX_OF_A_WORD,
		)
		for name in found:
			having[name] += 1 / len(found)
	return [name for name, _ in having.most_common(MAX_LOOKED_AT)]


def stems(query: str) -> list[str]:
	"""What is looked for, each once: numbers as they are, words without their endings."""
	words = re.findall(r"\w+", query.lower())
	wanted = (word for word in words if word not in LITTLE_WORDS and (len(word) > 1 or word.isdigit()))
	return list(dict.fromkeys(word if word.isdigit() else stem(word) for word in wanted))


def stem(word: str) -> str:
	short = ENDINGS.sub("", word)
	return short if len(short) >= SHORT_STEM else word


def score(row: Mapping, weights: Mapping[str, float], words: Sequence[str]) -> float:
	"""How much of the query is found, each word where it counts most. A whole word counts more than a beginning."""
	best = max(weights.values())
	found = sum(
		max(weight * fit(row.get(field), word) for field, weight in weights.items()) for word in words
	)
	return round(found / (best * len(words)), 2)


def fit(text: str | None, word: str) -> float:
	text = str(text or "").lower()
	if re.search(rf"\b{re.escape(word)}\b", text):
		return 1.0
	if re.search(rf"\b{re.escape(word)}", text) and not word.isdigit():
		return 0.9
	# Part of a longer word, such as Miete in Wohnungsmiete; of a longer number it says nothing.
	return 0 if word.isdigit() else 0.6 * (word in text)


def citation(place: Place, row: Mapping, points: float, words: Iterable[str]) -> dict:
	found = {
		"citation": place.cite(row),
		"title": row.get("titel") or row.get("kurzrubrum") or row.get("bezeichnung"),
	}
	found |= {"excerpt": excerpt(str(row.get(place.excerpt) or ""), words), "score": points}
	found |= {
		"doctype": place.doctype,
		"name": row["name"],
		**{field: row.get(field) for field in place.more},
	}
	return {key: value for key, value in found.items() if value not in (None, "")}


def excerpt(text: str, words: Iterable[str]) -> str:
	"""The part of a text around the first word that is found."""
	text = " ".join(text.split())
	if len(text) <= EXCERPT:
		return text
	places = [at for word in words if (at := text.lower().find(word)) >= 0]
	start = max(0, min(places, default=0) - EXCERPT // 4)
	start = text.rfind(" ", 0, start) + 1
	cut = text[start : start + EXCERPT]
	return f"{'… ' if start else ''}{cut.strip()}{' …' if start + EXCERPT < len(text) else ''}"
