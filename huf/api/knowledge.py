"""Endpoints about knowledge: sources, their items, and search as the session user.

Files are uploaded by Frappe's API.
"""

import frappe

from huf.ai.core.documents import get_permitted
from huf.ai.core.request_values import clamp_start, read_json
from huf.ai.knowledge import overview
from huf.ai.knowledge.indexing import request_index
from huf.ai.knowledge.search import search_knowledge
from huf.ai.knowledge.store import SOURCE


@frappe.whitelist(methods=["GET"])
def get_sources():
	"""The sources the user may search: see `huf.ai.knowledge.overview.list_sources`."""
	frappe.has_permission(SOURCE, "read", throw=True)
	return overview.list_sources()


@frappe.whitelist(methods=["GET"])
def get_items(source: str, start: int = 0, limit: int = 50):
	"""The items of a source that the user may read: see `huf.ai.knowledge.overview.list_items`."""
	get_permitted(SOURCE, source, "write")
	return overview.list_items(source, clamp_start(start), max(1, limit))


@frappe.whitelist(methods=["GET", "POST"])
def search(query: str, sources: list | str | None = None, limit: int = 6):
	"""{query, results, more}: see `huf.ai.knowledge.search`.

	`sources`: one name, or a list of names, also as JSON.
	"""
	if isinstance(sources, str):
		sources = read_json(sources, "sources") if sources.startswith("[") else [sources]
	return search_knowledge(query, sources or None, limit)


@frappe.whitelist(methods=["POST"])
def index(source: str, again: bool = False):
	"""Queue a job that indexes a source; with `again`, unchanged items as well."""
	get_permitted(SOURCE, source, "write")
	request_index(source, again)
	return {"enqueued": True}


@frappe.whitelist(methods=["POST"])
def remove_item(item: str):
	"""Remove a file or a page from its source."""
	overview.remove_source_item(item)
	return {"removed": True}
