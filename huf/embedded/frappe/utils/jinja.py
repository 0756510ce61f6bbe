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


def render_template(template: str, context: dict | None = None) -> str:
	"""Render template text. Unknown names render as "". Files cannot be included."""
	if not template:
		return ""
	if ".__" in template:
		frappe.throw(frappe._("Illegal template"))
	return make_environment().from_string(template).render(context or {})


def make_environment():
	from jinja2.sandbox import SandboxedEnvironment

	environment = SandboxedEnvironment(autoescape=False)
	session = frappe._dict(user=frappe.session.user)
	environment.globals.update(
		frappe=frappe._dict(_=frappe._, session=session, form_dict=frappe.form_dict),
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
	return environment
