"""Creates knowledge sources for tests, indexes them at once, and searches them as a user."""

import json

import frappe

from huf.ai.core.session import acting_as
from huf.ai.knowledge.indexing import index_source
from huf.ai.knowledge.search import search_knowledge
from huf.ai.knowledge.store import SOURCE
from huf.tests.factories import make, unique


def make_source(*documents: tuple[str, str | bytes], index: bool = True, **values) -> str:
	"""A committed Knowledge Source; `documents` are files as (name, content)."""
	values.setdefault("source_type", "DocType" if "reference_doctype" in values else "Files")
	source = make(SOURCE, source_name=unique("Source"), **values).name
	for name, content in documents:
		attach(SOURCE, source, name, content)
	frappe.db.commit()
	if index:
		index_source(source)
	return source


def attach(doctype: str, name: str, file_name: str, content: str | bytes, **values):
	"""Attach a private file to a document; commits."""
	target = {"attached_to_doctype": doctype, "attached_to_name": name, "is_private": 1}
	doc = make("File", file_name=f"{unique('f')} {file_name}", content=content, **{**target, **values})
	frappe.db.commit()
	return doc


def find(query: str, source: str, user: str = "Administrator", limit: int = 20) -> list[dict]:
	with acting_as(user):
		return search_knowledge(query, [source], limit)["results"]


def texts(query: str, source: str, user: str = "Administrator") -> list[str]:
	return [each["text"] for each in find(query, source, user)]


def everything_owned(user: str, *doctypes: str) -> str:
	"""All rows that a user owns in some DocTypes, as JSON."""
	rows = [frappe.get_all(each, filters={"owner": user}, fields=["*"], order_by="name") for each in doctypes]
	return json.dumps(rows, default=str)
