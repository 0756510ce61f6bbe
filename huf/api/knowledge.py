"""REST about knowledge: sources, what is in them, and a search as the signed-in user. Files are uploaded as Frappe has it."""

import frappe

from huf.ai.knowledge import overview
from huf.ai.knowledge.indexing import enqueue_index
from huf.ai.knowledge.search import search as search_knowledge
from huf.ai.knowledge.store import SOURCE


@frappe.whitelist(methods=["GET"])
def get_sources():
	"""The sources that the user may search: see `huf.ai.knowledge.overview.list_sources`."""
	frappe.has_permission(SOURCE, "read", throw=True)
	return overview.list_sources()


@frappe.whitelist(methods=["GET"])
def get_items(source: str, start: int = 0, limit: int = 50):
	"""What a source holds, as far as the user may read it: see `huf.ai.knowledge.overview.list_items`."""
	frappe.get_doc(SOURCE, source).check_permission("write")
	return overview.list_items(source, start, limit)


@frappe.whitelist(methods=["GET", "POST"])
def search(query: str, sources: list | str | None = None, limit: int = 6):
	"""{query, results, more}: see `huf.ai.knowledge.search`. `sources`: their names, as a list, JSON of one, or one name."""
	if isinstance(sources, str):
		sources = frappe.parse_json(sources) if sources.startswith("[") else [sources]
	return search_knowledge(query, sources or None, limit)


@frappe.whitelist(methods=["POST"])
def index(source: str, again: bool = False):
	"""Have a source looked through now, by a worker; `again`: also what has not changed."""
	frappe.get_doc(SOURCE, source).check_permission("write")
	enqueue_index(source, again=again)
	return {"enqueued": True}


@frappe.whitelist(methods=["POST"])
def remove_item(item: str):
	"""Take a file or a page out of its source."""
	overview.remove_item(item)
	return {"removed": True}
