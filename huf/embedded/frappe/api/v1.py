"""/api/method and /api/resource."""

import frappe
import frappe.client
import frappe.handler
from frappe.model.request_values import field_values, parse_object
from werkzeug.routing import Rule


def call_method(method: str):
	frappe.form_dict.cmd = method.split("/")[0]
	return frappe.handler.handle()


def document_list(doctype: str):
	"""A list by the query's `fields`, `filters`, `order_by`, `limit_start`, `limit_page_length` (20) ..."""
	form = frappe.form_dict
	form.limit_page_length = form.get("limit_page_length") or form.get("limit") or 20
	return frappe.call(frappe.client.get_list, **{**form, "doctype": doctype})


def create_doc(doctype: str):
	return frappe.client.readable(new_document(doctype, request_data()).insert())


def new_document(doctype: str, data: dict):
	"""An unsaved document of this DocType, whatever DocType the data names."""
	return frappe.get_doc({**field_values(doctype, data), "doctype": doctype})


def read_doc(doctype: str, name: str):
	if "run_method" in frappe.form_dict:
		return run_method(doctype, name)
	doc = load(doctype, name)
	doc.check_permission("read")
	doc.apply_fieldlevel_read_permissions()
	return doc


def load(doctype: str, name: str, for_update: bool = False):
	"""Load a document. Raises DoesNotExistError (404), also for an unknown DocType."""
	frappe.get_meta(doctype)
	return frappe.get_doc(doctype, name, for_update=for_update)


def update_doc(doctype: str, name: str):
	return change_document(doctype, name, request_data())


def change_document(doctype: str, name: str, data: dict):
	"""Save the fields in `data`; a child row's parent is saved as well."""
	doc = load(doctype, name, for_update=True)
	doc.update(field_values(doctype, data))
	doc.save()
	if doc.get("parenttype"):
		frappe.get_doc(doc.parenttype, doc.parent).save()
	return frappe.client.readable(doc)


def delete_doc(doctype: str, name: str):
	frappe.delete_doc(doctype, name, ignore_missing=False)
	frappe.response["http_status_code"] = 202
	return "ok"


def run_method(doctype: str, name: str, method: str | None = None):
	"""Call a whitelisted method of the document; a POST needs write permission."""
	method = str(method or frappe.form_dict.pop("run_method"))
	doc = load(doctype, name)
	doc.is_whitelisted(method)
	function = doc.find_method(method)
	frappe.handler.check_verb(getattr(function, "__func__", function))
	doc.check_permission("read" if frappe.local.request.method == "GET" else "write")
	result = doc.run_method(method, **frappe.handler.form_arguments(function))
	return frappe.client.readable(result) if result is doc else result


def post_to_doc(doctype: str, name: str):
	if "run_method" not in frappe.form_dict:
		frappe.throw(frappe._("run_method is missing: use PUT to change a document"))
	return run_method(doctype, name)


def request_data() -> dict:
	"""The fields that a client sent: as JSON, as JSON in the form field `data`, or as a form."""
	data = frappe.form_dict.get("data")
	data = parse_object(data) if isinstance(data, str) else data
	return data if isinstance(data, dict) else frappe.form_dict


def url_rules() -> list[Rule]:
	document = "/resource/<doctype>/<path:name>/"
	return [
		Rule("/method/<path:method>", endpoint=call_method),
		Rule("/resource/<doctype>", methods=["GET"], endpoint=document_list),
		Rule("/resource/<doctype>", methods=["POST"], endpoint=create_doc),
		Rule(document, methods=["GET"], endpoint=read_doc),
		Rule(document, methods=["PUT"], endpoint=update_doc),
		Rule(document, methods=["DELETE"], endpoint=delete_doc),
		Rule(document, methods=["POST"], endpoint=post_to_doc),
	]
