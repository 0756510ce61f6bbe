"""DocTypes for tests.

For permissions: a Case belongs to a Team and has a field that only leads may read. For changes: an Order has
lines and a naming series, fetches a field of its Customer, and can be submitted.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import frappe
from frappe.model.document import Document

from huf.tests.factories import make

TEAM, CASE = "Huf Test Team", "Huf Test Case"
CUSTOMER, ORDER, LINE = "Huf Test Customer", "Huf Test Order", "Huf Test Order Line"
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
PLAIN = {**ALL, "submit": 0, "cancel": 0, "amend": 0}
"""All rights on DocTypes that cannot be submitted."""
NONE = dict.fromkeys(RIGHTS, 0)
"""Every right is set explicitly: Frappe grants most of those that a rule leaves out."""


def make_doctypes() -> None:
	"""Create missing roles and DocTypes; commits."""
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
	if not frappe.db.exists("DocType", ORDER):
		make_doctype(CUSTOMER, CUSTOMER_FIELDS, CUSTOMER_RULES, autoname="field:title")
		make_doctype(LINE, LINE_FIELDS, [], istable=1)
		make_doctype(
			ORDER, ORDER_FIELDS, ORDER_RULES, is_submittable=1, autoname="naming_series:", track_changes=1
		)
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
]
CASE_RULES = [
	{**NONE, "role": READER, "read": 1, "report": 1},
	{**ALL, "role": OWNER, "if_owner": 1},
	{**ALL, "role": EDITOR},
	{**ALL, "role": LEAD},
	{**NONE, "role": LEAD, "permlevel": 1, "read": 1, "write": 1},
]

CUSTOMER_RULES = [
	{**NONE, "role": READER, "read": 1},
	{**PLAIN, "role": EDITOR},
	{**PLAIN, "role": LEAD},
	{**NONE, "role": LEAD, "permlevel": 1, "read": 1, "write": 1},
]
CUSTOMER_FIELDS = [
	field("title", "Data", reqd=1),
	field("city", "Data"),
	field("orders", "Int"),
	field("discount", "Percent", permlevel=1),
]
LINE_FIELDS = [
	field("item", "Data", reqd=1, in_list_view=1),
	field("qty", "Int", default="1", in_list_view=1),
	field("margin", "Currency", permlevel=1),
]
ORDER_FIELDS = [
	field("naming_series", "Select", options="HUF-ORD-", default="HUF-ORD-"),
	field("customer", "Link", options=CUSTOMER, reqd=1),
	field("city", "Data", fetch_from="customer.city", read_only=1),
	field("status", "Select", options="New\nPaid", default="New"),
	field("ordered_at", "Datetime"),
	field("lines", "Table", options=LINE),
	field("note", "Text"),
]
ORDER_RULES = [
	{**NONE, "role": READER, "read": 1},
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


def make_order(*items: str, **values):
	"""A committed order of a customer in Brno."""
	if not frappe.db.exists(CUSTOMER, "Anna"):
		make(CUSTOMER, title="Anna", city="Brno")
	doc = make(
		ORDER, **{"customer": "Anna", "lines": [{"item": item} for item in items or ("nail",)], **values}
	)
	frappe.db.commit()
	return doc


@contextmanager
def controller(doctype: str, **methods: Callable) -> Iterator[None]:
	"""Add controller methods to a DocType, as an app's class would: `on_update=function of the document`."""
	for event, method in methods.items():
		setattr(Document, event, only_for(doctype, method))
	try:
		yield
	finally:
		for event in methods:
			delattr(Document, event)


def only_for(doctype: str, method: Callable) -> Callable:
	return lambda doc, *args, **kwargs: method(doc) if doc.doctype == doctype else None
