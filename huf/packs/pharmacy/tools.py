"""Tools of a pharmacy's agent: look up drugs and reserve what is in stock.

The owner of a reservation is the sender of the mail that the run answers, not a name chosen by the model.
"""

from typing import Literal

import frappe

from huf.ai.core.errors import ToolError
from huf.ai.core.types import Effect
from huf.ai.tools.registry import tool
from huf.ai.tools.taint import find_mail

DRUG, STOCK, RESERVATION = "Pharmacy Drug", "Pharmacy Stock", "Pharmacy Reservation"
OPEN = "Open"


@tool(effect=Effect.READ)
def search_drugs(query: str, limit: int = 5) -> dict:
	"""Search drugs by name or substance, with their stock in each branch

	Args:
		query: Part of the drug's name, or of its substance
		limit: The maximum number of drugs
	"""
	like = ["like", f"%{query.strip()}%"]
	drugs = frappe.get_list(
		DRUG,
		or_filters={"drug_name": like, "substance": like},
		fields=["name", "substance", "form"],
		order_by="name asc",
		limit_page_length=max(1, min(limit, 20)),
	)
	return {"drugs": [{**drug, "branches": list_branches(drug.name)} for drug in drugs]}


@tool(effect=Effect.WRITE, documents_only=True)
def manage_reservation(
	action: Literal["create", "check", "cancel"], drug_name: str, pharmacy_id: str | None = None
) -> dict:
	"""Create, check or cancel a reservation of a drug for the person who wrote

	Args:
		action: create, check or cancel
		drug_name: The drug as search_drugs names it
		pharmacy_id: The branch; may be left out where only one has the drug
	"""
	if not frappe.db.exists(DRUG, drug_name):
		raise ToolError(f"There is no drug {drug_name!r}. Look for it with search_drugs.")
	return ACTIONS[action](drug_name, pharmacy_id, get_patient())


def list_branches(drug: str) -> list[dict]:
	rows = frappe.get_list(
		STOCK, filters={"drug": drug}, fields=["branch", "quantity", "reserved"], order_by="branch asc"
	)
	free = [
		{"pharmacy_id": row.branch, "available": (row.quantity or 0) - (row.reserved or 0)} for row in rows
	]
	return [each for each in free if each["available"] > 0]


def get_patient() -> str:
	"""The address of the person who wrote the mail (the one the helpdesk names, else the sender); in a chat,
	the user.
	"""
	mail = find_mail(frappe.flags.huf_run)
	row = mail and frappe.db.get_value("Agent Mail", mail, ["sender", "prepared"], as_dict=True)
	if not row:
		return frappe.session.user
	return frappe.parse_json(row.prepared or "{}").get("patient_email", row.sender)


def create_reservation(drug: str, branch: str | None, patient: str) -> dict:
	branch = branch or find_only_branch(drug)
	doc = frappe.get_doc(
		{"doctype": RESERVATION, "drug": drug, "branch": branch, "patient_email": patient}
	).insert()
	# One statement checks and reserves, so that two people cannot get the last one.
	frappe.db.sql(
		f"""update `tab{STOCK}` set reserved = coalesce(reserved, 0) + 1, last_reservation = %s
		where drug = %s and branch = %s and quantity > coalesce(reserved, 0)""",
		(doc.name, drug, branch),
	)
	if frappe.db.get_value(STOCK, {"drug": drug, "branch": branch}, "last_reservation") != doc.name:
		raise ToolError(f"{branch} has no {drug} left.")
	return {"status": "reserved", "reservation": doc.name, "drug_name": drug, "pharmacy_id": branch}


def check_reservations(drug: str, branch: str | None, patient: str) -> dict:
	return {"reservations": list_open_reservations(drug, branch, patient)}


def cancel_reservation(drug: str, branch: str | None, patient: str) -> dict:
	found = list_open_reservations(drug, branch, patient)
	if not found:
		raise ToolError(f"{patient} has no open reservation of {drug}.")
	doc = frappe.get_doc(RESERVATION, found[0]["reservation"])
	doc.status = "Cancelled"
	doc.save()
	frappe.db.sql(
		f"update `tab{STOCK}` set reserved = reserved - 1 where drug = %s and branch = %s and reserved > 0",
		(drug, doc.branch),
	)
	return {"status": "cancelled", "reservation": doc.name}


ACTIONS = {"create": create_reservation, "check": check_reservations, "cancel": cancel_reservation}


def list_open_reservations(drug: str, branch: str | None, patient: str) -> list[dict]:
	filters = {
		"drug": drug,
		"patient_email": patient,
		"status": OPEN,
		**({"branch": branch} if branch else {}),
	}
	rows = frappe.get_list(RESERVATION, filters=filters, fields=["name", "branch"], order_by="creation asc")
	return [{"reservation": row.name, "pharmacy_id": row.branch} for row in rows]


def find_only_branch(drug: str) -> str:
	branches = list_branches(drug)
	if len(branches) != 1:
		names = ", ".join(each["pharmacy_id"] for each in branches)
		raise ToolError(f"Say which branch: {names}." if names else f"No branch has {drug}.")
	return branches[0]["pharmacy_id"]
