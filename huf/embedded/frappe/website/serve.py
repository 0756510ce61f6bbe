"""Serves pages from apps' `www` folders: `page.html` with an optional `page.py`.

`website_route_rules` map other paths to a page, `page_renderer` classes may answer before it.  There is no
base template: a page is rendered as it is.
"""

import importlib
import os
from functools import cache
from pathlib import Path

import frappe
from frappe.website.page import redirect
from jinja2 import Environment, FileSystemLoader
from werkzeug.exceptions import NotFound
from werkzeug.routing import Map, RequestRedirect, Rule
from werkzeug.utils import safe_join
from werkzeug.wrappers import Response


def get_response(path: str | None = None) -> Response:
	"""The page of the request's path. Raises NotFound, or frappe.Redirect if the page redirects."""
	path = (path if path is not None else frappe.local.request.path).strip("/")
	if path in ("", "index"):
		redirect(get_home_page())
	for renderer in frappe.get_hooks("page_renderer"):
		page = frappe.get_attr(renderer)(path=path)
		if page.can_render():
			return page.render()
	path = resolve_route(path)
	app = next((app for app in reversed(frappe.get_installed_apps()) if has_page(app, path)), None)
	if not app:
		raise NotFound
	return Response(render(app, f"{path}.html", get_context(app, path)), mimetype="text/html")


def get_home_page() -> str:
	from frappe.auth import get_home

	return get_home() if frappe.session.user != "Guest" else f"/login?redirect-to={get_home()}"


def resolve_route(path: str) -> str:
	"""The page that `website_route_rules` define for this path. Variables of the rule become request
	arguments.
	"""
	rules = frappe.get_hooks("website_route_rules")
	routes = Map(
		[Rule(rule["from_route"], endpoint=rule["to_route"]) for rule in rules], strict_slashes=False
	)
	try:
		page, variables = routes.bind_to_environ(frappe.local.request.environ).match(f"/{path}", method="GET")
	except (NotFound, RequestRedirect):
		return path
	frappe.form_dict.update(variables)
	return page.strip("/")


def has_page(app: str, path: str) -> bool:
	file = safe_join(www_folder(app), f"{path}.html")
	return bool(file) and os.path.isfile(file)  # also False for a name that is too long


def www_folder(app: str) -> str:
	return frappe.get_app_path(app, "www")


def get_context(app: str, path: str):
	"""The context made by `get_context(context)` of the page's Python file, which is optional."""
	context = frappe._dict(path=path, user=frappe.session.user)
	module = f"{app}.www.{path.replace('/', '.').replace('-', '_')}"
	if not (Path(www_folder(app)) / path.replace("-", "_")).with_suffix(".py").is_file():
		return context
	function = getattr(importlib.import_module(module), "get_context", None)
	context.update((function and function(context)) or {})
	return context


@cache
def _environment(folder: str) -> Environment:
	return Environment(loader=FileSystemLoader(folder), autoescape=True, auto_reload=True)


def render(app: str, template: str, context: dict) -> str:
	"""Render a file of the app's `www` folder. Values are escaped, unlike in real Frappe, so pages also write
	`| e`.
	"""
	return _environment(www_folder(app)).get_template(template).render(_=frappe._, frappe=frappe, **context)
