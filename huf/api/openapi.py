"""Endpoints that create tools from an OpenAPI document, for people who configure agents."""

import frappe
from frappe import _
from frappe.utils import cint

from huf.ai.core.errors import UsageError
from huf.ai.core.request_values import read_text_list, read_text_map
from huf.ai.setup import openapi_document, openapi_import

TOOL = "Agent Tool Function"


@frappe.whitelist(methods=["POST"])
def preview(
	url: str = "",
	content: str = "",
	base_url: str = "",
	prefix: str = "",
	allow_private: bool | int | str = False,
):
	"""Preview an import from a URL or a document's text; see `huf.ai.setup.openapi_import.preview_import`.
	`allow_private`: the document or the service may have a private address.
	"""
	document = read_document(url, content, allow_private)
	return openapi_import.preview_import(document, url, base_url, prefix)


@frappe.whitelist(methods=["POST"])
def create(
	operations: list | str,
	digest: str,
	url: str = "",
	content: str = "",
	base_url: str = "",
	prefix: str = "",
	allow_private: bool | int | str = False,
	headers: dict | str | None = None,
	replace: list | str | None = None,
):
	"""Create tools for chosen operations; see `huf.ai.setup.openapi_import.import_tools`."""
	document = read_document(url, content, allow_private)
	return openapi_import.import_tools(
		document,
		read_text_list(operations, "operations"),
		source=url,
		base_url=base_url,
		prefix=prefix,
		digest=digest,
		headers=read_text_map(headers or {}, "headers"),
		replace=read_text_list(replace or [], "replace"),
		allow_private=bool(cint(allow_private)),
	)


def read_document(url: str, content: str, allow_private: bool | int | str) -> dict:
	"""An OpenAPI document, parsed from a URL or text. Raises PermissionError or UsageError."""
	frappe.has_permission(TOOL, "create", throw=True)
	if bool(url) == bool(content):
		raise UsageError(_("Enter the URL of an OpenAPI document, or its text."))
	text = content or openapi_document.fetch_text(url, bool(cint(allow_private)))
	return openapi_document.parse_document(text)
