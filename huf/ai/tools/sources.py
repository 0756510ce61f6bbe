"""Extracts the sources of tool results (documents and pages), so that answers can cite them.

Tools whose results have another form add a list `sources`.
"""

from collections.abc import Iterator
from typing import Any, TypeGuard

import frappe

from huf.ai.core.json_text import parse_json, to_canonical_json
from huf.ai.tools.types import KNOWLEDGE

MAX_SOURCES = 50
IDENTITY = ("url", "doctype", "name", "number")
PASSAGE = ("number", "source", "title", "doctype", "name", "url", "link", "position")
CITE = "Where you use a passage, cite it by its number, such as [1]."


def number_results(found: dict, run: str | None) -> dict:
	"""Search results, each with the `number` to cite it by; numbers continue through a run."""
	first = count_results(run) + 1
	results = [{"number": number, **each} for number, each in enumerate(found["results"], first)]
	return {**found, "results": results, **({"note": CITE} if results else {})}


def count_results(run: str | None) -> int:
	"""The number of results of a run's searches so far."""
	texts = frappe.db.sql(
		"""select made.result from `tabAgent Tool Call` made
		join `tabAgent Tool Function` tool on tool.name = made.tool
		where made.run = %s and made.status = 'Success' and tool.types = %s""",
		(run, KNOWLEDGE),
		pluck=True,
	)
	return sum(text.count('"number": ') for text in texts if text)


def read_sources(result: str | None) -> list[dict]:
	"""Sources of a result's text: {doctype, name, title} or {url, title}, each once; title is None if
	unknown.

	A passage also has its number, source, link and position; its own text and score stay in the result.
	"""
	try:
		found = find_sources(parse_json(result or ""))
	except ValueError:
		return []
	sources: dict[str, dict] = {}
	for each in found:
		# A result may hold anything under these keys, and thousands of documents, of which each is looked up.
		sources[to_canonical_json([each.get(key) for key in IDENTITY])] = each
		if len(sources) == MAX_SOURCES:
			break
	return list(sources.values())


def find_sources(value: Any) -> Iterator[dict]:
	if isinstance(value, list):
		for each in value:
			yield from find_sources(each)
	elif isinstance(value, dict):
		yield from find_object_sources(value)


def find_object_sources(value: dict) -> Iterator[dict]:
	doctype, name, url = value.get("doctype"), value.get("name"), value.get("url")
	lists = [value[key] for key in ("sources", "results") if isinstance(value.get(key), list)]
	if lists:
		yield from find_sources(lists[0])
	elif isinstance(value.get("number"), int) and "position" in value:
		yield {key: value[key] for key in PASSAGE if value.get(key) is not None}
	elif is_nonempty_text(doctype) and name and isinstance(name, str | int):
		yield from to_document_sources(doctype, [value])
	elif is_nonempty_text(doctype) and isinstance(value.get("rows"), list):
		yield from to_document_sources(
			doctype, [row for row in value["rows"] if isinstance(row, dict) and row.get("name")]
		)
	elif is_nonempty_text(url):
		yield {"url": url, "title": value.get("title")}


def to_document_sources(doctype: str, rows: list[dict]) -> Iterator[dict]:
	title_field = frappe.db.get_value("DocType", doctype, "title_field", cache=True)
	for row in rows:
		yield {
			"doctype": doctype,
			"name": row["name"],
			"title": row.get("citation") or (row.get(title_field) if title_field else None),
		}


def is_nonempty_text(value: Any) -> TypeGuard[str]:
	return isinstance(value, str) and bool(value)
