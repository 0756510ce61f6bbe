"""The pharmacy: reservations that never oversell, and belong to who wrote."""

import frappe

from huf.ai.admission import acting_as
from huf.ai.errors import ToolError
from huf.packs.pharmacy.tools import manage_reservation, search_drugs
from huf.tests.contract.connections import together
from huf.tests.factories import make, make_user, unique
from huf.tests.packs.samples import ShippedPackCase


class TestReservations(ShippedPackCase):
	name = "pharmacy"

	def setUp(self):
		super().setUp()
		self.drug = make("Pharmacy Drug", drug_name=unique("Ibuprofen"), substance="ibuprofen").name
		self.branch = make("Pharmacy Branch", branch_name=unique("Brno")).name
		self.user = make_user("Huf User")
		frappe.db.commit()

	def test_20_at_once_get_no_more_than_there_is(self):
		self.stock(7)
		outcomes = together([(reserve, self.user, self.drug, self.branch) for _ in range(20)])
		frappe.db.rollback()
		self.assertEqual(sum(outcomes), 7)
		self.assertEqual(frappe.db.get_value("Pharmacy Stock", {"drug": self.drug}, "reserved"), 7)
		self.assertEqual(frappe.db.count("Pharmacy Reservation", {"drug": self.drug}), 7)

	def test_what_is_cancelled_can_be_had_by_another_and_is_no_business_of_theirs(self):
		self.stock(1)
		other = make_user("Huf User")
		with acting_as(self.user):
			manage_reservation("create", self.drug)
			frappe.db.commit()
		with acting_as(other):
			with self.assertRaises(ToolError):
				manage_reservation("cancel", self.drug)
			self.assertEqual(manage_reservation("check", self.drug), {"reservations": []})
		with acting_as(self.user):
			manage_reservation("cancel", self.drug)
		with acting_as(other):
			self.assertEqual(manage_reservation("create", self.drug)["status"], "reserved")

	def test_a_search_tells_where_there_is_some(self):
		self.stock(2)
		with acting_as(self.user):
			found = search_drugs(self.drug)
		self.assertEqual(found["drugs"][0]["branches"], [{"pharmacy_id": self.branch, "available": 2}])

	def stock(self, quantity: int) -> None:
		make("Pharmacy Stock", drug=self.drug, branch=self.branch, quantity=quantity)
		frappe.db.commit()


def reserve(user: str, drug: str, branch: str) -> bool:
	with acting_as(user):
		try:
			manage_reservation("create", drug, branch)
		except ToolError:
			frappe.db.rollback()
			return False
		frappe.db.commit()
		return True
