"""Tools treat documents like those of ERPNext (companies, amendments, workflows) as Desk does.

Custom fields, server scripts and workflows need a bench; the embedded runtime refuses their records by name.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

import frappe

from huf.ai.core.errors import ToolError
from huf.ai.core.session import acting_as
from huf.ai.tools import document_tools as tools
from huf.ai.tools.types import build_parameters
from huf.tests.base import SiteTestCase, enter
from huf.tests.doctypes import (
	ALL,
	LEAD,
	PLAIN,
	controller,
	field,
	make_doctype,
	make_doctypes,
)
from huf.tests.factories import make, make_file, make_tool, make_user, unique

COMPANY, WAREHOUSE = "Huf Test Company", "Huf Test Warehouse"
INVOICE, ROW = "Huf Test Bill", "Huf Test Bill Item"
RULES = [{**ALL, "role": LEAD}, {**ALL, "role": "System Manager"}]
PLAIN_RULES = [{**PLAIN, "role": LEAD}, {**PLAIN, "role": "System Manager"}]
STATES = {"Pending": "0", "Approved": "1", "Closed": "1", "Revoked": "2"}
STEPS = (
	("Pending", "Approve", "Approved"),
	("Approved", "Close", "Closed"),
	("Approved", "Revoke", "Revoked"),
)


def make_erp_doctypes():
	make_doctypes()
	if frappe.db.exists("DocType", INVOICE):
		return
	make_doctype(COMPANY, [field("title", "Data", reqd=1)], PLAIN_RULES, autoname="field:title")
	linked = field("company", "Link", options=COMPANY, reqd=1)
	make_doctype(WAREHOUSE, [field("title", "Data", reqd=1), linked], PLAIN_RULES, autoname="field:title")
	rows = [
		field("item", "Data", reqd=1),
		field("warehouse", "Link", options=WAREHOUSE),
		field("qty", "Float", default="1"),
		field("rate", "Currency"),
		field("amount", "Currency", read_only=1),
		field("delivered", "Float", allow_on_submit=1),
	]
	make_doctype(ROW, rows, [], istable=1)
	fields = [
		field(
			"naming_series", "Select", options="HUF-INV-.YYYY.-\nHUF-RET-.YYYY.-", default="HUF-INV-.YYYY.-"
		),
		linked,
		field("items", "Table", options=ROW, reqd=1),
		field("total", "Currency", read_only=1),
		field("remarks", "Small Text", allow_on_submit=1),
		field("due_on", "Date"),
		field("printed", "Int", no_copy=1),
	]
	make_doctype(INVOICE, fields, RULES, is_submittable=1, autoname="naming_series:", track_changes=1)
	frappe.db.commit()


def set_amounts(doc):
	"""Computes amounts as ERPNext's controllers do in `validate`."""
	for row in doc.items_of():
		row.amount = (row.qty or 0) * (row.rate or 0)
	doc.total = sum(row.amount for row in doc.items_of())


def has_doctype(name: str) -> bool:
	return bool(frappe.db.exists("DocType", name))


class ErpTestCase(SiteTestCase):
	@classmethod
	def setUpClass(cls):
		frappe.set_user("Administrator")
		make_erp_doctypes()

	def setUp(self):
		super().setUp()
		make_erp_doctypes()
		self.company, self.other = (make(COMPANY, title=unique("Company")).name for _ in range(2))
		self.warehouse, self.other_warehouse = (
			make(WAREHOUSE, title=unique("Warehouse"), company=company).name
			for company in (self.company, self.other)
		)
		self.user = make_user("Huf User", LEAD)
		enter(self, controller(INVOICE, validate=set_amounts, items_of=lambda doc: doc.get("items") or []))

	def create(self, **values) -> dict:
		row = {"item": "Bolt", "qty": 2, "rate": 5, "warehouse": self.warehouse}
		return tools.create_document(INVOICE, {"company": self.company, "items": [row], **values})

	def refused(self, error, work, *parts: str):
		with self.assertRaises(error) as caught:
			work()
		frappe.db.rollback()
		for part in parts:
			self.assertIn(part, str(caught.exception))


class TestSubmittedDocuments(ErpTestCase):
	def test_naming_series_and_totals_are_computed_by_the_server(self):
		with acting_as(self.user):
			one, two = self.create(), self.create(naming_series="HUF-RET-.YYYY.-")
		self.assertRegex(one["name"], r"^HUF-INV-20\d\d-\d{5}$")
		self.assertRegex(two["name"], r"^HUF-RET-20\d\d-\d{5}$")
		self.assertEqual((one["total"], one["items"][0]["amount"]), (10, 10))

	def test_a_row_that_links_to_nothing_is_refused(self):
		row = {"item": "Bolt", "warehouse": "No such warehouse"}
		with acting_as(self.user):
			self.refused(frappe.LinkValidationError, lambda: self.create(items=[row]), "No such warehouse")

	def test_only_allow_on_submit_fields_change_after_submission(self):
		with acting_as(self.user):
			name = self.create()["name"]
			self.assertEqual(tools.submit_document(INVOICE, name)["docstatus"], 1)
			frappe.db.commit()
			tools.set_value(INVOICE, name, "remarks", "Paid in cash")
			self.assertEqual(tools.get_document(INVOICE, name)["remarks"], "Paid in cash")
			frappe.db.commit()
			for changed in ({"due_on": "2031-01-01"}, {"items": [{"item": "Nut"}, {"item": "Nail"}]}):
				with self.subTest(changed):
					work = partial(tools.update_document, INVOICE, name, changed)
					self.refused(frappe.UpdateAfterSubmitError, work)
			self.refused(frappe.ValidationError, lambda: tools.delete_document(INVOICE, name))
			self.refused(ToolError, lambda: tools.submit_document(INVOICE, name), "not a draft")

	def test_rows_of_submitted_documents_change_only_in_allow_on_submit_fields(self):
		with acting_as(self.user):
			name = self.create()["name"]
			tools.submit_document(INVOICE, name)
			(row,) = frappe.get_doc(INVOICE, name).as_dict()["items"]
			row_values = {key: row[key] for key in ("name", "item", "warehouse", "qty", "rate", "amount")}
			tools.update_document(INVOICE, name, {"items": [{**row_values, "delivered": 2}]})
			self.assertEqual(tools.get_document(INVOICE, name)["items"][0]["delivered"], 2)
			frappe.db.commit()
			changed = {"items": [{**row_values, "rate": 9}]}
			self.refused(frappe.UpdateAfterSubmitError, lambda: tools.update_document(INVOICE, name, changed))


class TestAmendments(ErpTestCase):
	def cancelled(self) -> str:
		name = self.create(remarks="First")["name"]
		make_file("offer.txt", "an offer", attached_to_doctype=INVOICE, attached_to_name=name)
		tools.submit_document(INVOICE, name)
		tools.cancel_document(INVOICE, name)
		frappe.db.commit()
		return name

	def test_an_amendment_is_a_draft_with_the_values_rows_and_files_of_the_original(self):
		with acting_as(self.user):
			name = self.cancelled()
			amended = tools.amend_document(INVOICE, name, {"remarks": "Second"})
			self.assertEqual(
				(amended["name"], amended["docstatus"], amended["remarks"], amended["amended_from"]),
				(f"{name}-1", 0, "Second", name),
			)
			self.assertEqual((amended["total"], amended["items"][0]["item"]), (10, "Bolt"))
			files = frappe.get_all(
				"File", filters={"attached_to_name": amended["name"]}, pluck="file_name", order_by="name asc"
			)
			self.assertEqual(len(files), 1, files)
			self.assertEqual(frappe.db.get_value(INVOICE, name, "docstatus"), 2)
			self.assertEqual(tools.get_amended_document(INVOICE, name)["name"], amended["name"])
			self.refused(ToolError, lambda: tools.amend_document(INVOICE, name, {}), "amended already")

	def test_second_amendment_increments_the_name_suffix(self):
		with acting_as(self.user):
			name = self.cancelled()
			first = tools.amend_document(INVOICE, name, {})["name"]
			tools.submit_document(INVOICE, first)
			tools.cancel_document(INVOICE, first)
			self.assertEqual(tools.amend_document(INVOICE, first, {})["name"], f"{name}-2")

	def test_only_a_cancelled_document_is_amended(self):
		with acting_as(self.user):
			name = self.create()["name"]
			frappe.db.commit()
			self.refused(ToolError, lambda: tools.amend_document(INVOICE, name, {}), "not cancelled")
			self.refused(frappe.ValidationError, lambda: self.create(amended_from=name), "cannot be amended")

	def test_amending_without_permission_is_refused(self):
		name = self.cancelled()
		other_user = make_user("Huf User")
		with acting_as(other_user):
			self.refused(ToolError, lambda: tools.amend_document(INVOICE, name, {}), "that you may read")


class TestCompanies(ErpTestCase):
	def test_a_user_of_one_company_neither_sees_nor_makes_documents_of_another(self):
		theirs = self.create(company=self.other, items=[{"item": "Nut", "warehouse": self.other_warehouse}])
		mine = self.create()
		make("User Permission", user=self.user, allow=COMPANY, for_value=self.company)
		frappe.db.commit()
		with acting_as(self.user):
			names = {row["name"] for row in tools.get_list(INVOICE, limit=500)["rows"]}
			self.assertIn(mine["name"], names)
			self.assertNotIn(theirs["name"], names)
			self.refused(ToolError, lambda: tools.get_document(INVOICE, theirs["name"]), "that you may read")
			self.refused(frappe.PermissionError, lambda: self.create(company=self.other))
			warehouses = {row["name"] for row in tools.get_list(WAREHOUSE, limit=500)["rows"]}
			self.assertNotIn(self.other_warehouse, warehouses)

	def test_user_permission_on_a_warehouse_applies_to_child_rows(self):
		make("User Permission", user=self.user, allow=WAREHOUSE, for_value=self.warehouse)
		frappe.db.commit()
		with acting_as(self.user):
			self.create()
			row = {"item": "Nut", "warehouse": self.other_warehouse}
			self.refused(frappe.PermissionError, lambda: self.create(items=[row]))


class TestCustomFields(ErpTestCase):
	def test_custom_field_is_read_written_and_part_of_the_tool_schema(self):
		values = {
			"dt": INVOICE,
			"fieldname": "po_no",
			"label": "PO No",
			"fieldtype": "Data",
			"allow_on_submit": 1,
		}
		if not has_doctype("Custom Field"):
			return self.refused(ImportError, lambda: make("Custom Field", **values), "Module import failed")
		custom = make("Custom Field", **values)
		self.addCleanup(frappe.db.commit)
		self.addCleanup(frappe.clear_cache, doctype=INVOICE)
		self.addCleanup(frappe.delete_doc, "Custom Field", custom.name)
		with acting_as(self.user):
			invoice = self.create(po_no="PO-7")
			self.assertEqual(invoice["po_no"], "PO-7")
			tools.submit_document(INVOICE, invoice["name"])
			changed = tools.update_document(INVOICE, invoice["name"], {"po_no": "PO-8"})
			self.assertEqual(changed["po_no"], "PO-8")
			self.assertEqual(
				tools.get_list(INVOICE, {"po_no": "PO-8"}, ["po_no"])["rows"][0]["po_no"], "PO-8"
			)
		tool = frappe.get_doc("Agent Tool Function", make_tool("Create Document", reference_doctype=INVOICE))
		self.assertIn("po_no", build_parameters(tool)["properties"])


class TestServerScripts(ErpTestCase):
	def test_server_script_error_is_raised_by_the_tool(self):
		values = {
			"name": unique("Script"),
			"script_type": "DocType Event",
			"reference_doctype": INVOICE,
			"doctype_event": "Before Save",
			"script": "if doc.remarks == 'no': frappe.throw('Remarks must not be no.')\ndoc.due_on = '2031-02-03'",
		}
		if not has_doctype("Server Script"):
			return self.refused(ImportError, lambda: make("Server Script", **values), "Module import failed")
		with server_scripts_enabled():
			script = make("Server Script", **values)
			frappe.db.commit()
			self.addCleanup(frappe.db.commit)
			self.addCleanup(frappe.delete_doc, "Server Script", script.name)
			with acting_as(self.user):
				self.assertEqual(str(self.create()["due_on"]), "2031-02-03")
				self.refused(frappe.ValidationError, lambda: self.create(remarks="no"), "must not be no")


class TestWorkflows(ErpTestCase):
	def setUp(self):
		super().setUp()
		if not has_doctype("Workflow"):
			return
		make_workflow()
		self.addCleanup(remove_workflow)

	def test_setting_the_workflow_state_applies_the_transition_and_docstatus(self):
		if not has_doctype("Workflow"):
			return self.refused(ImportError, lambda: make("Workflow"), "Module import failed")
		with acting_as(self.user):
			name = self.create()["name"]
			self.assertEqual(frappe.db.get_value(INVOICE, name, "workflow_state"), "Pending")
			approved = tools.update_document(INVOICE, name, {"workflow_state": "Approved", "remarks": "Fine"})
			self.assertEqual(
				(approved["workflow_state"], approved["docstatus"], approved["remarks"]),
				("Approved", 1, "Fine"),
			)
			revoked = tools.set_value(INVOICE, name, "workflow_state", "Revoked")
			self.assertEqual((revoked["workflow_state"], revoked["docstatus"]), ("Revoked", 2))
			amended = tools.amend_document(INVOICE, name, {})
			self.assertEqual((amended["workflow_state"], amended["docstatus"]), ("Pending", 0))

	def test_tools_cannot_bypass_the_workflow(self):
		if not has_doctype("Workflow"):
			return self.refused(ImportError, lambda: make("Workflow State"), "Module import failed")
		with acting_as(self.user):
			name = self.create()["name"]
			frappe.db.commit()
			state = {"workflow_state": "Closed"}
			self.refused(
				ToolError,
				lambda: tools.update_document(INVOICE, name, state),
				"Next states for you: Approved",
			)
			self.refused(ToolError, lambda: tools.submit_document(INVOICE, name), "workflow", "Approved")
			tools.update_document(INVOICE, name, {"workflow_state": "Approved"})
			frappe.db.commit()
			self.refused(ToolError, lambda: tools.cancel_document(INVOICE, name), "Closed, Revoked")
		tool = frappe.get_doc("Agent Tool Function", make_tool("Update Document", reference_doctype=INVOICE))
		offered = build_parameters(tool)["properties"]["values"]["properties"]["workflow_state"]
		self.assertEqual(offered["enum"], list(STATES))

	def test_self_approval_is_refused_when_the_workflow_forbids_it(self):
		if not has_doctype("Workflow"):
			return self.refused(ImportError, lambda: make("Workflow Action Master"), "Module import failed")
		workflow = frappe.get_doc("Workflow", f"{INVOICE} Approval")
		workflow.transitions[0].allow_self_approval = 0
		workflow.save()
		frappe.clear_cache(doctype=INVOICE)
		with acting_as(self.user):
			name = self.create()["name"]
			frappe.db.commit()
			state = {"workflow_state": "Approved"}
			self.refused(
				frappe.ValidationError, lambda: tools.update_document(INVOICE, name, state), "Self approval"
			)
		with acting_as(make_user("Huf User", LEAD)):
			self.assertEqual(tools.update_document(INVOICE, name, state)["docstatus"], 1)


def make_workflow():
	for state in STATES:
		if not frappe.db.exists("Workflow State", state):
			make("Workflow State", workflow_state_name=state)
	for _state, action, _next in STEPS:
		if not frappe.db.exists("Workflow Action Master", action):
			make("Workflow Action Master", workflow_action_name=action)
	make(
		"Workflow",
		workflow_name=f"{INVOICE} Approval",
		document_type=INVOICE,
		is_active=1,
		send_email_alert=0,
		workflow_state_field="workflow_state",
		states=[
			{"state": state, "doc_status": status, "allow_edit": LEAD} for state, status in STATES.items()
		],
		transitions=[
			{
				"state": state,
				"action": action,
				"next_state": following,
				"allowed": LEAD,
				"allow_self_approval": 1,
			}
			for state, action, following in STEPS
		],
	)
	frappe.clear_cache(doctype=INVOICE)
	frappe.db.commit()


def remove_workflow():
	frappe.set_user("Administrator")
	frappe.db.rollback()
	frappe.delete_doc("Workflow", f"{INVOICE} Approval", force=True)
	frappe.delete_doc("Custom Field", f"{INVOICE}-workflow_state", force=True, ignore_missing=True)
	frappe.clear_cache(doctype=INVOICE)
	frappe.db.commit()


@contextmanager
def server_scripts_enabled() -> Iterator[None]:
	from frappe.utils import safe_exec

	before, safe_exec.is_safe_exec_enabled = safe_exec.is_safe_exec_enabled, lambda: True
	try:
		yield
	finally:
		safe_exec.is_safe_exec_enabled = before
