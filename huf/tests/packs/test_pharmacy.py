"""The pharmacy pack: reservations never oversell and are private to their user."""

import frappe

from huf.ai.core.errors import ToolError
from huf.ai.core.session import acting_as
from huf.ai.mail.dispatch import read_rules, route_mail
from huf.ai.mail.message import parse_message
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

	def test_concurrent_reservations_never_exceed_the_stock(self):
		self.stock(7)
		outcomes = together([(reserve, self.user, self.drug, self.branch) for _ in range(20)])
		frappe.db.rollback()
		self.assertEqual(sum(outcomes), 7)
		self.assertEqual(frappe.db.get_value("Pharmacy Stock", {"drug": self.drug}, "reserved"), 7)
		self.assertEqual(frappe.db.count("Pharmacy Reservation", {"drug": self.drug}), 7)

	def test_reservations_are_private_and_free_the_stock_when_cancelled(self):
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

	def test_search_returns_branches_with_available_stock(self):
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


class TestSeed(ShippedPackCase):
	"""The agent, its tools and its rule are those of the founding document."""

	name = "pharmacy"

	def test_the_agent_is_as_its_profile_says(self):
		agent = frappe.get_doc("Agent", "pharmacy")
		values = (agent.model, agent.max_tokens, agent.temperature, agent.max_iterations)
		self.assertEqual(values, ("gemini/gemini-2.5-pro", 4096, 0.3, 10))
		self.assertEqual([row.tool for row in agent.agent_tool], TOOLS)

	def test_each_tool_has_the_documented_parameters(self):
		for name, (needed, optional) in PARAMETERS.items():
			doc = frappe.get_doc("Agent Tool Function", name)
			schema = frappe.parse_json(doc.function_definition)["parameters"]
			self.assertEqual(set(schema["required"]), needed, name)
			self.assertEqual(set(schema["properties"]), needed | optional, name)

	def test_only_mail_from_the_helpdesk_is_routed_to_the_agent(self):
		for sender, expected in {
			"info@dostupnost-leku.cz": ("agent", "pharmacy"),
			"a@b.example": ("pipeline", None),
		}.items():
			message = parse_message(f"From: {sender}\nTo: o@p.example\nSubject: x\n\nHello".encode())
			rules = [rule for rule in read_rules() if rule.name in ("pharmacy_support", "default")]
			decision = route_mail(message, rules)
			self.assertEqual((decision.route.value, decision.profile), expected)

	def test_drug_search_respects_its_limit(self):
		self.assertEqual(len(search_drugs("n", limit=2)["drugs"]), 2)
		self.assertGreater(len(search_drugs("n")["drugs"]), 2)

	def test_drugs_are_found_by_substance_with_branches_that_have_stock(self):
		(found,) = search_drugs("PARACETAMOL")["drugs"]
		self.assertEqual(
			(found["name"], found["branches"]), ("Paralen 500", [{"pharmacy_id": "Brno", "available": 5}])
		)
		self.assertEqual(search_drugs("aspirin")["drugs"][0]["branches"], [])
		self.assertEqual(search_drugs("nothing of the kind"), {"drugs": []})


TOOLS = ["search_drugs", "manage_reservation", "web_search", "send_reply", "create_draft", "escalate"]
PARAMETERS = {
	"search_drugs": ({"query"}, {"limit"}),
	"manage_reservation": ({"action", "drug_name"}, {"pharmacy_id"}),
	"web_search": ({"query"}, {"limit"}),
	"send_reply": ({"to", "subject", "body"}, set()),
	"create_draft": ({"to", "subject", "body"}, set()),
	"escalate": ({"reason"}, set()),
}
