"""Reads of other servers in eval cases: they are made for real, and no transaction waits for them."""

import frappe

from huf.ai.core.session import acting_as
from huf.tests.ai.evals.test_evaluation import EvalTestCase
from huf.tests.drafting import Shop
from huf.tests.factories import make_agent, make_role, make_tool, make_user


class NotedWrites(list):
	"""In place of the bodies that a server receives: what the test has written and not committed meanwhile."""

	def __init__(self):
		super().__init__()
		self.database = frappe.local.db

	def append(self, body: dict) -> None:
		super().append(self.database.transaction_writes)


class TestOutsideCalls(EvalTestCase):
	def test_no_write_transaction_is_open_while_a_case_waits_for_another_server(self):
		role = make_role()
		author = make_user("Huf Manager", role)
		with Shop() as shop:
			shop.bodies = NotedWrites()
			values = {"base_url": shop.url, "allow_private_hosts": 1, "effect": "read"}
			ask = make_tool("POST", roles=[{"role": role}], **values)
			self.agent = make_agent(tools=(self.create, ask))
			call, say = {"call": ask, "with": {"body": {"number": 1}}}, {"say": "Done."}
			with acting_as(author):
				self.case({"calls": ask}, roles=[role], answers=[call, say])
			answers = [self.build_create_call(), call, say]
			self.case(
				{"calls": ask}, name="two", records=[{"doctype": "ToDo", "description": "x"}], answers=answers
			)
			self.assertEqual(self.faults(), [])
		self.assertEqual(shop.bodies, [0, 0])
