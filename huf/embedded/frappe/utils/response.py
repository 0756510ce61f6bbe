"""Builds responses: `frappe.local.response` becomes JSON, a download or a redirect; exceptions become error
bodies.
"""

import json
import os
from traceback import format_exception_only

import frappe
from frappe.utils.file_types import is_displayed
from werkzeug.exceptions import Forbidden, NotFound
from werkzeug.utils import safe_join, send_file
from werkzeug.wrappers import Response


def is_v2() -> bool:
	return frappe.local.request.path.startswith("/api/v2/")


def as_json() -> Response:
	body = frappe.local.response
	if not body.get("docs"):
		body.pop("docs", None)
	status = body.pop("http_status_code", None) or 200
	(_add_logs_v2 if is_v2() else _add_logs_v1)(body)
	return Response(frappe.as_json(body, indent=None), status=status, mimetype="application/json")


def _add_logs_v1(body: dict):
	if frappe.local.error_log:
		body["exc"] = json.dumps([str(entry["exc"]) for entry in frappe.local.error_log])
	if frappe.local.message_log:
		body["_server_messages"] = json.dumps(
			[frappe.as_json(entry, indent=None) for entry in frappe.local.message_log]
		)
	if frappe.flags.error_message:
		body["_error_message"] = frappe.flags.error_message


def _add_logs_v2(body: dict):
	if frappe.local.message_log:
		body["messages"] = frappe.local.message_log


def report_error(error: Exception, status: int) -> Response:
	"""The JSON body of the exception being handled; its traceback in developer mode only."""
	kind = type(error)
	is_inline = frappe.conf.developer_mode and status != 404 and not frappe.flags.disable_traceback
	traceback = frappe.get_traceback() if is_inline else ""
	body = frappe.local.response
	if is_v2():
		entry = {"type": kind.__name__, **_message_of(error)}
		body["errors"] = [{**entry, "exception": traceback} if traceback else entry]
	else:
		if traceback:
			frappe.local.error_log.append({"exc": traceback})
		if traceback or (status < 500 and status not in (400, 404)):
			body["exception"] = last_line(error)
		body["exc_type"] = kind.__name__
	body["http_status_code"] = status
	return as_json()


def last_line(error: Exception) -> str:
	"""The last line of a traceback: the exception and its message."""
	return "".join(format_exception_only(error)).strip().splitlines()[-1]


def _message_of(error) -> dict:
	"""The message shown for this exception, removed from the message log."""
	wanted = getattr(error, "__frappe_exc_id", None)
	for entry in list(frappe.local.message_log):
		if entry.get("__frappe_exc_id") == wanted:
			frappe.local.message_log.remove(entry)
			return {key: entry[key] for key in entry if key not in ("raise_exception", "__frappe_exc_id")}
	return {}


def send_site_file(folder: str, name: str, **options) -> Response:
	"""A file below `folder`. Raises NotFound for anything else, including paths that leave the folder."""
	path = safe_join(os.path.abspath(folder), name)
	if not path or not os.path.isfile(path):
		raise NotFound
	response = send_file(path, frappe.local.request.environ, conditional=True, **options)
	response.headers["X-Content-Type-Options"] = "nosniff"
	return response


def send_upload(folder: str, name: str) -> Response:
	"""An uploaded file, sent so that it cannot run as a page of this site."""
	response = send_site_file(folder, name, as_attachment=not is_displayed(name))
	response.headers["Content-Security-Policy"] = "default-src 'none'; style-src 'unsafe-inline'; sandbox"
	return response


def download_private_file(path: str) -> Response:
	"""/private/files/...: only for users who may read a File document with this URL."""
	from frappe.core.doctype.file.file import files_at

	if not any(frappe.has_permission("File", "read", doc=name) for name in files_at(path)):
		raise Forbidden(frappe._("You don't have permission to access this file"))
	return send_upload(frappe.get_site_path("private", "files"), path.removeprefix("/private/files/"))
