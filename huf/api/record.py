"""Endpoints about records of any DocType, within the user's permissions.

Frappe's own REST saves and deletes them.
"""

import frappe

from huf.ai.core.errors import UsageError
from huf.ai.core.request_values import clamp_count, clamp_start, clip_search, read_json
from huf.ai.queries import records, search
from huf.ai.tools import trust

MAX_ROWS = 200


@frappe.whitelist(methods=["GET"])
def get_meta(doctype: str, language: str | None = None):
	"""The form of a DocType; see `huf.ai.queries.records.describe_doctype`."""
	return records.describe_doctype(doctype, language)


@frappe.whitelist(methods=["GET"])
def get_records(
	doctype: str, text: str | None = None, filters: dict | str | None = None, start: int = 0, limit: int = 50
):
	"""Records, most recently modified first; see `huf.ai.queries.records.list_records`."""
	parsed = read_json(filters or "{}", "filters")
	if not isinstance(parsed, dict | list):
		raise UsageError("filters must be a JSON object or list.")
	limit = clamp_count(limit, MAX_ROWS)
	return records.list_records(doctype, clip_search(text), parsed, clamp_start(start), limit)


@frappe.whitelist(methods=["GET"])
def get_record(doctype: str, name: str):
	"""One record with the user's permissions on it and its attachments: {doc, can, files,
	untrusted}."""
	return records.read_record(doctype, name)


@frappe.whitelist(methods=["GET"])
def get_card(doctype: str, name: str, language: str | None = None):
	"""A summary of a record: {doctype, title, fields: [{label, value}]}; see `records.read_card`."""
	return records.read_card(doctype, name, language)


@frappe.whitelist(methods=["POST"])
def trust_record(doctype: str, name: str):
	"""Trust a record that contains untrusted content, or that a run wrote after it had read such content.

	For users who may write it; see `huf.ai.tools.trust`.
	"""
	return {"cleared": trust.trust_record(doctype, name)}


@frappe.whitelist(methods=["GET"])
def get_doctypes(language: str | None = None):
	"""The DocTypes listed in the web app: [{name, label}]."""
	return records.list_used_doctypes(language)


@frappe.whitelist(methods=["GET"])
def find(text: str):
	"""Search pages and records: [{kind, doctype, name, title, detail}]; see `huf.ai.queries.search`."""
	return search.search_everything(clip_search(text))
