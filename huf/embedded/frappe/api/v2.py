"""/api/v2: the same documents and methods, with `data` as the one key of every answer."""

import frappe
import frappe.client
import frappe.handler
from frappe.api import v1
from werkzeug.routing import Rule


def login():
	"""The login itself happened before routing."""
	return frappe.response.pop("message", None)


def call_method(method: str):
	return frappe.handler.execute_cmd(method)


def document_list(doctype: str):
	frappe.form_dict.limit_page_length = frappe.form_dict.pop("limit", None) or 20
	return v1.document_list(doctype)


def create_doc(doctype: str):
	return frappe.client.readable(v1.new_document(doctype, frappe.form_dict).insert())


def update_doc(doctype: str, name: str):
	return v1.change_document(doctype, name, frappe.form_dict)


def url_rules() -> list[Rule]:
	document = "/document/<doctype>/<path:name>/"
	return [
		Rule("/method/login", endpoint=login),
		Rule("/method/<method>", endpoint=call_method),
		Rule("/document/<doctype>", methods=["GET"], endpoint=document_list),
		Rule("/document/<doctype>", methods=["POST"], endpoint=create_doc),
		Rule(document, methods=["GET"], endpoint=v1.read_doc),
		Rule(document, methods=["PATCH", "PUT"], endpoint=update_doc),
		Rule(document, methods=["DELETE"], endpoint=v1.delete_doc),
		Rule(f"{document}method/<method>/", methods=["GET", "POST"], endpoint=v1.run_method),
	]
