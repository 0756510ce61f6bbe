"""Templates, rendered in Jinja's sandbox."""

import frappe
from frappe.utils.data import (
	cint,
	cstr,
	escape_html,
	flt,
	format_date,
	format_datetime,
	get_url,
	nowdate,
	strip_html,
)


def render_template(
	template: str, context: dict | None = None, is_path=None, safe_render: bool = True
) -> str:
	"""Render template text; `is_path` (or a text that ends in .html) names a file of an installed app."""
	if not template:
		return ""
	jenv = get_jenv()
	if is_path or (
		is_path is None and template.endswith(".html") and "\n" not in template and " " not in template
	):
		return jenv.get_template(template).render(context or {})
	if safe_render and ".__" in template:
		frappe.throw(frappe._("Illegal template"))
	return jenv.from_string(template).render(context or {})


def get_jenv():
	"""One environment per request; unknown names render as nothing."""
	if "jenv" not in frappe.local.cache:
		from jinja2 import PackageLoader, PrefixLoader
		from jinja2.sandbox import SandboxedEnvironment

		loader = PrefixLoader({app: PackageLoader(app, "") for app in frappe.get_installed_apps()})
		environment = SandboxedEnvironment(loader=loader, autoescape=False)
		environment.globals.update(
			frappe=frappe._dict(
				_=frappe._, session=frappe._dict(user=frappe.session.user), form_dict=frappe.form_dict
			),
			_=frappe._,
			nowdate=nowdate,
			get_url=get_url,
		)
		environment.filters.update(
			json=frappe.as_json,
			cint=cint,
			flt=flt,
			cstr=cstr,
			len=len,
			strip_html=strip_html,
			escape_html=escape_html,
			format_date=format_date,
			format_datetime=format_datetime,
		)
		frappe.local.cache["jenv"] = environment
	return frappe.local.cache["jenv"]
