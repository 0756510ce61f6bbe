"""DocTypes made for tests of permissions: a Case belongs to a Team, and has a field only leads may read."""

import frappe

from huf.tests.factories import make

TEAM, CASE = "Huf Test Team", "Huf Test Case"
READER, OWNER, EDITOR, LEAD = "Huf Test Reader", "Huf Test Owner", "Huf Test Editor", "Huf Test Lead"
RIGHTS = (
	"read",
	"write",
	"create",
	"delete",
	"submit",
	"cancel",
	"amend",
	"report",
	"share",
	"export",
	"print",
	"email",
)
ALL = dict.fromkeys(RIGHTS, 1)
NONE = dict.fromkeys(RIGHTS, 0)
"""A rule says no as plainly as yes: Frappe fills most rights that are left out with yes."""


def make_doctypes() -> None:
	"""Make roles and DocTypes where they are missing; commits."""
	for role in (READER, OWNER, EDITOR, LEAD):
		if not frappe.db.exists("Role", role):
			make("Role", role_name=role)
	if not frappe.db.exists("DocType", TEAM):
		make_doctype(
			TEAM,
			[field("title", "Data", reqd=1)],
			[{**NONE, "role": READER, "read": 1}],
			autoname="field:title",
		)
	if not frappe.db.exists("DocType", CASE):
		make_doctype(CASE, CASE_FIELDS, CASE_RULES, is_submittable=1, autoname="hash", track_changes=1)
	frappe.db.commit()


def field(fieldname: str, fieldtype: str, **values) -> dict:
	label = fieldname.replace("_", " ").title()
	return {"fieldname": fieldname, "fieldtype": fieldtype, "label": label, **values}


CASE_FIELDS = [
	field("title", "Data", reqd=1, in_list_view=1),
	field("status", "Select", options="Open\nClosed", default="Open", in_list_view=1),
	field("amount", "Int"),
	field("team", "Link", options=TEAM),
	field("fee", "Data", permlevel=1),
	field("pin", "Password"),
	field("amended_from", "Link", options=CASE, read_only=1, no_copy=1),
]
CASE_RULES = [
	{**NONE, "role": READER, "read": 1, "report": 1},
	{**ALL, "role": OWNER, "if_owner": 1},
	{**ALL, "role": EDITOR},
	{**ALL, "role": LEAD},
	{**NONE, "role": LEAD, "permlevel": 1, "read": 1, "write": 1},
]


def make_doctype(name: str, fields: list[dict], rules: list[dict], **values) -> None:
	make("DocType", name=name, module="Huf", custom=1, fields=fields, permissions=rules, **values)


def make_case(**values):
	"""A committed case."""
	doc = make(CASE, **{"title": "Roof", "fee": "SECRET-FEE", "pin": "SECRET-PIN", **values})
	frappe.db.commit()
	return doc
