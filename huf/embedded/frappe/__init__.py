"""The part of Frappe's Python API that Huf uses, over SQLite, in one process.

A clean-room subset with Frappe's module paths. Names are loaded on first use; missing names raise
AttributeError. See huf/embedded/README.md.
"""

import gc
import importlib

from frappe.exceptions import *  # noqa: F403
from frappe.exceptions import NameError, PermissionError  # noqa: A004, F401
from frappe.site_local import (  # noqa: F401
	connect,
	destroy,
	get_site_config,
	get_site_path,
	init,
	local,
	release_local,
	set_user,
)
from frappe.types import _dict  # noqa: F401

__version__ = "15.55.1+embedded"

STANDARD_USERS = ("Guest", "Administrator")

LOCAL_NAMES = {
	"conf",
	"db",
	"error_log",
	"flags",
	"form_dict",
	"lang",
	"message_log",
	"request",
	"response",
	"session",
}
"""Attributes of `frappe.local` that are also reachable as `frappe.<name>`."""

MODULES = {
	"frappe.apps": """append_hook get_app_path get_attr get_doc_hooks get_file_json
		get_hooks get_installed_apps get_module get_module_list get_newargs get_pymodule_path call
		read_file scrub unscrub""",
	"frappe.email.queue": "sendmail",
	"frappe.model.db_query": "get_all get_list get_value",
	"frappe.model.delete_doc": "delete_doc",
	"frappe.model.documents": """copy_doc get_cached_doc get_cached_value get_doc get_last_doc get_single
		new_doc clear_document_cache""",
	"frappe.model.meta": "get_meta",
	"frappe.model.rename_doc": "rename_doc",
	"frappe.access": "get_roles has_permission only_for",
	"frappe.realtime": "publish_realtime",
	"frappe.translate": "_",
	"frappe.utils.background_jobs": "enqueue",
	"frappe.utils.caching": "cache clear_cache",
	"frappe.utils.data": "generate_hash",
	"frappe.utils.error": "get_traceback log_error",
	"frappe.utils.jinja": "render_template",
	"frappe.utils.json_text": "as_json parse_json",
	"frappe.utils.logger": "logger",
	"frappe.utils.messages": """bold clear_last_message clear_messages msgprint throw""",
	"frappe.utils.safe_exec": "safe_eval",
	"frappe.website.page": "get_request_header redirect",
	"frappe.whitelisting": """allowed_http_methods_for_whitelisted_func guest_methods is_whitelisted whitelist
		whitelisted xss_safe_methods""",
}
"""Where each lazily loaded name of `frappe` is defined."""

SUBMODULES = (
	"apps client desk exceptions model permissions realtime sessions share translate utils website".split()
)
"""Modules that `import frappe` alone makes available in real Frappe."""

# Like real Frappe: a single query may create 700 objects, after which Python would collect garbage.
gc.set_threshold(*(count * more for count, more in zip(gc.get_threshold(), (10, 2, 2), strict=True)))

_module_of = {name: module for module, names in MODULES.items() for name in names.split()}


def __getattr__(name):
	if name in LOCAL_NAMES:
		return getattr(local, name, None)
	if module := _module_of.get(name):
		value = globals()[name] = getattr(importlib.import_module(module), name)
		return value
	if name in SUBMODULES:
		return importlib.import_module(f"frappe.{name}")
	raise AttributeError(f"frappe.{name} is not part of embedded mode: see huf/embedded/README.md")
