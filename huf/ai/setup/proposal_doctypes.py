"""Which DocTypes a proposed agent could work with, those that a sentence names first."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import frappe
from frappe import _

from huf.ai.core.documents import FRAMEWORK_MODULES
from huf.ai.core.tokenizer import fold_text, split_words
from huf.ai.knowledge.terms import STEMMERS, stem_word
from huf.ai.queries.records import list_used_doctypes

RIGHTS = {"list": "read", "read": "read", "create": "create", "update": "write"}
"""Kinds of tools that are proposed (never delete), each with the right on the DocType that it needs."""
MAX_CANDIDATES = 120
RARE_MODULES = FRAMEWORK_MODULES | {"Data Migration", "Event Streaming", "Huf"}
"""Modules of DocTypes that are offered only if a sentence names them, or tools use them."""


@dataclass(frozen=True)
class Candidate:
	"""A DocType; `score` says how much of its name a sentence has, 0 to 1."""

	name: str
	label: str
	kinds: tuple[str, ...]
	score: float = 0

	@classmethod
	def find(cls, doctype: Any, score: float = 0) -> "Candidate | None":
		"""The DocType, or None if it does not exist or the user may not read and list it."""
		facts = ["istable", "issingle"]
		row = isinstance(doctype, str) and frappe.db.get_value("DocType", doctype, facts, as_dict=True)
		if not row or row.istable or row.issingle or not frappe.has_permission(doctype, "read"):
			return None
		kinds = tuple(kind for kind, right in RIGHTS.items() if frappe.has_permission(doctype, right))
		return cls(doctype, _(doctype), kinds, score)


def find_candidates(sentence: str) -> list[Candidate]:
	"""DocTypes that the user may read: those that the sentence names, those that tools use, those of apps."""
	filters = {"istable": 0, "issingle": 0}
	rows = frappe.get_all("DocType", filters, ["name", "module"], order_by="name asc")
	used = {row["name"] for row in list_used_doctypes()}
	stems, joined = collect_stems(split_words(fold_text(sentence))), join_words(sentence)
	scores = {row.name: max(rate(name, stems, joined) for name in {row.name, _(row.name)}) for row in rows}
	names = [
		row.name for row in rows if scores[row.name] or row.name in used or row.module not in RARE_MODULES
	]
	names.sort(key=lambda name: (-scores[name], name not in used, name))
	found = (Candidate.find(name, scores[name]) for name in names[:MAX_CANDIDATES])
	return [each for each in found if each]


def rate(name: str, stems: set[str], joined: str) -> float:
	"""The share of the name's words that the sentence has; "to-dos" has all of ToDo."""
	words = split_words(fold_text(name))
	if join_words(name) in joined:
		return 1.0
	return sum(not stems.isdisjoint(collect_stems([word])) for word in words) / (len(words) or 1)


def collect_stems(words: Iterable[str]) -> set[str]:
	"""The stems of words in all languages."""
	return {stem_word(word, language) for word in words for language in STEMMERS}


def join_words(text: str) -> str:
	return "".join(split_words(fold_text(text)))
