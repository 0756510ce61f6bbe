"""Searches the office's records with the user's permissions and returns citations.

A citation is {citation, title, excerpt, score, doctype, name, url} with a score from 0 to 1. Words are
stemmed, so that Kündigungen finds Kündigung.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import frappe

from huf.ai.core.errors import ToolError
from huf.ai.tools.fields import list_readable_fields

MAX_RESULTS = 20
MAX_RANKED_ROWS = 100
MAX_QUERY_WORDS = 12
MAX_ROWS_PER_WORD = 10_000
EXCERPT_CHARS = 240
MIN_STEM_CHARS = 4
ENDINGS = re.compile(r"(ungen|en|er|es|em|ns|n|e|s)$")
STOP_WORDS = frozenset(
	"aus auf bei der die das dem den des ein eine einem einen einer eines für gegen hat ich ist mit nach "
	"nicht ob oder und unter vom von vor was wegen welche welcher welches wenn wer wie wird "
	"zu zum zur über".split()
)


@dataclass(frozen=True)
class SearchTarget:
	"""What is searched: fields with their weights, the field for excerpts, and how a row is cited."""

	doctype: str
	weights: Mapping[str, float]
	excerpt: str
	cite: Callable[[Mapping], str]
	extra_fields: Sequence[str] = ()


def find_citations(
	targets: Iterable[SearchTarget], query: str, limit: int, filters: Mapping | None = None
) -> dict:
	"""{query, results: citations of all targets, best first}. Raises ToolError for a query without words."""
	words = stem_words(query)
	if not words:
		raise ToolError("Say in words what to look for.")
	found = [each for target in targets for each in search_target(target, words, filters)]
	found.sort(key=lambda each: (-each["score"], each["citation"]))
	return {"query": query, "results": found[: max(1, min(limit, MAX_RESULTS))]}


def search_target(target: SearchTarget, words: Sequence[str], filters: Mapping | None = None) -> list[dict]:
	readable = set(list_readable_fields(target.doctype))
	weights = {field: weight for field, weight in target.weights.items() if field in readable}
	fields = [
		field
		for field in dict.fromkeys(["name", *weights, target.excerpt, *target.extra_fields])
		if field in readable
	]
	names = find_candidates(target.doctype, list(weights), words[:MAX_QUERY_WORDS], dict(filters or {}))
	rows = names and frappe.get_list(
		target.doctype, {"name": ["in", names]}, fields, order_by="name asc", limit_page_length=0
	)
	return [build_citation(target, row, score_row(row, weights, words), words) for row in rows]


def find_candidates(doctype: str, fields: Sequence[str], words: Sequence[str], filters: Mapping) -> list[str]:
	"""Names of the rows with the most words of the query; rare words count more."""
	having: Counter[str] = Counter()
	for word in words:
		alternatives = [[doctype, field, "like", f"%{word}%"] for field in fields]
		found = alternatives and frappe.get_list(
			doctype,
			filters,
			or_filters=alternatives,
			pluck="name",
			order_by="modified desc",
			limit_page_length=MAX_ROWS_PER_WORD,
		)
		for name in found:
			having[name] += 1 / len(found)
	return [name for name, _ in having.most_common(MAX_RANKED_ROWS)]


def stem_words(query: str) -> list[str]:
	"""Distinct search terms of a query: numbers, and stems of words without stop words."""
	words = re.findall(r"\w+", query.lower())
	wanted = (word for word in words if word not in STOP_WORDS and (len(word) > 1 or word.isdigit()))
	return list(dict.fromkeys(word if word.isdigit() else stem(word) for word in wanted))


def stem(word: str) -> str:
	short = ENDINGS.sub("", word)
	return short if len(short) >= MIN_STEM_CHARS else word


def score_row(row: Mapping, weights: Mapping[str, float], words: Sequence[str]) -> float:
	"""How much of the query a row contains (0 to 1); each word counts in the field where it weighs most."""
	best = max(weights.values())
	found = sum(
		max(weight * match_quality(row.get(field), word) for field, weight in weights.items())
		for word in words
	)
	return round(found / (best * len(words)), 2)


def match_quality(text: str | None, word: str) -> float:
	text = str(text or "").lower()
	if re.search(rf"\b{re.escape(word)}\b", text):
		return 1.0
	if re.search(rf"\b{re.escape(word)}", text) and not word.isdigit():
		return 0.9
	# Part of a compound word, such as Miete in Wohnungsmiete. Part of a longer number means nothing.
	return 0 if word.isdigit() else 0.6 * (word in text)


def build_citation(target: SearchTarget, row: Mapping, score: float, words: Iterable[str]) -> dict:
	found = {
		"citation": target.cite(row),
		"title": row.get("titel") or row.get("kurzrubrum") or row.get("bezeichnung"),
	}
	found |= {"excerpt": cut_excerpt(str(row.get(target.excerpt) or ""), words), "score": score}
	found |= {
		"doctype": target.doctype,
		"name": row["name"],
		**{field: row.get(field) for field in target.extra_fields},
	}
	return {key: value for key, value in found.items() if value not in (None, "")}


def cut_excerpt(text: str, words: Iterable[str]) -> str:
	"""The part of a text around the first word that it contains."""
	text = " ".join(text.split())
	if len(text) <= EXCERPT_CHARS:
		return text
	places = [at for word in words if (at := text.lower().find(word)) >= 0]
	start = max(0, min(places, default=0) - EXCERPT_CHARS // 4)
	start = text.rfind(" ", 0, start) + 1
	cut = text[start : start + EXCERPT_CHARS]
	return f"{'… ' if start else ''}{cut.strip()}{' …' if start + EXCERPT_CHARS < len(text) else ''}"
