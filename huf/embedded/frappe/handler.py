"""/api/method: finds whitelisted functions, checks the caller and verb, and calls them. Also uploads."""

import inspect

import frappe
from frappe import _
from frappe.auth import UNSAFE_HTTP_METHODS, require_csrf_token
from frappe.model.request_values import field_values
from werkzeug.wrappers import Response

SERVED = frozenset(
	(
		"frappe.auth.get_logged_user",
		"frappe.client.cancel",
		"frappe.client.delete",
		"frappe.client.get",
		"frappe.client.get_count",
		"frappe.client.get_list",
		"frappe.client.get_single_value",
		"frappe.client.get_value",
		"frappe.client.has_permission",
		"frappe.client.insert",
		"frappe.client.insert_many",
		"frappe.client.rename_doc",
		"frappe.client.save",
		"frappe.client.set_value",
		"frappe.client.submit",
		"frappe.core.doctype.user.user.reset_password",
		"frappe.core.doctype.user.user.update_password",
		"frappe.desk.search.search_link",
		"frappe.integrations.doctype.connected_app.connected_app.callback",
	)
)
"""Frappe's functions that are available at /api/method: those that the web app and other programs use."""


def handle():
	"""Run `frappe.form_dict.cmd`. A returned Response is sent; any other value becomes `message`."""
	command = frappe.form_dict.cmd
	data = None if command == "login" else execute_cmd(command)
	if isinstance(data, Response):
		return data
	if data is not None:
		frappe.response["message"] = data
	return None


def execute_cmd(command: str):
	"""Call the function of this dotted path, or of this short name below."""
	if not isinstance(command, str):
		raise frappe.DoesNotExistError
	command = (frappe.get_hooks("override_whitelisted_methods", {}).get(command) or [command])[-1]
	if command.startswith("frappe.") and command not in SERVED:
		raise frappe.DoesNotExistError(_("{0} is not served here").format(command))
	method = find_method(command)
	frappe.is_whitelisted(method)
	check_verb(method)
	return method(**form_arguments(method))


def form_arguments(method) -> dict:
	"""The request's arguments that a function accepts. Raises FrappeTypeError (417) if one is missing."""
	form = {key: value for key, value in frappe.form_dict.items() if key != "cmd"}
	arguments = frappe.get_newargs(method, form)
	try:
		inspect.signature(method).bind(**arguments)
	except TypeError as error:
		frappe.throw(f"{method.__name__}: {error}", frappe.FrappeTypeError)
	return arguments


def find_method(command: str):
	"""The function of this path, whose module is imported. Raises DoesNotExistError for those that no request
	should import: `__main__` would be run, tests load much, and the runtime is served as `frappe` only.
	"""
	parts = command.split(".")
	is_test = "tests" in parts and not frappe.conf.allow_tests
	is_copy = command.startswith("huf.embedded.frappe.")
	if is_test or is_copy or any(part.startswith("_") for part in parts):
		raise frappe.DoesNotExistError(_("{0} is not served here").format(command))
	try:
		return frappe.get_attr(command) if "." in command else SHORT_NAMES[command]
	except (Exception, SystemExit) as error:  # importing runs the app's code, which may raise anything
		frappe.throw(_("Failed to get method for command {0} with {1}").format(command, error))


def check_verb(method):
	"""Raises PermissionError unless the function is whitelisted for the request's verb."""
	if frappe.local.request.method not in frappe.allowed_http_methods_for_whitelisted_func[method]:
		frappe.throw(_("Not permitted"), frappe.PermissionError)


@frappe.whitelist(allow_guest=True)
def ping():
	return "pong"


@frappe.whitelist(allow_guest=True)
def logout():
	"""A GET needs the session's CSRF token as well, so that no link or image can sign a user out."""
	if frappe.session.user != "Guest" and frappe.local.request.method not in UNSAFE_HTTP_METHODS:
		require_csrf_token()
	frappe.local.login_manager.logout()


@frappe.whitelist()
def upload_file():
	"""Store the request's `file` (or a link to `file_url`) as a File, attached to `doctype` and `docname` if
	given.

	The caller needs write permission on that document.
	"""
	form, upload = frappe.form_dict, frappe.local.request.files.get("file")
	target = {"attached_to_doctype": form.doctype, "attached_to_name": form.docname}
	given = {**target, "attached_to_field": form.fieldname, "folder": form.folder, "file_url": form.file_url}
	values = field_values("File", {**given, "file_name": form.file_name})
	check_write_permission(form.doctype, form.docname)
	content, name = (upload.stream.read(), upload.filename) if upload else (None, form.file_name)
	if content == b"":
		# Frappe stores nothing for an empty upload, and fails afterwards.
		frappe.throw(_("File {0} does not exist").format(name), OSError)
	return frappe.get_doc(
		{
			**values,
			"doctype": "File",
			"folder": form.folder or "Home",
			"file_name": name,
			"is_private": frappe.utils.cint(form.is_private),
			"content": content,
		}
	).save()


def check_write_permission(doctype: str | None, name: str | None):
	if doctype and name and frappe.db.exists(doctype, name):
		frappe.get_doc(doctype, name).check_permission("write")
	elif doctype:
		frappe.has_permission(doctype, "write", throw=True)


SHORT_NAMES = {"ping": ping, "logout": logout, "upload_file": upload_file}
