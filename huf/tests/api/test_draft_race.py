"""One draft answered at once over five entry points: one answer wins, its effect is made once, the others are told."""

import os
from unittest.mock import patch

import frappe

from huf.ai.mail.approval_links import make_approval_link
from huf.ai.runs import queue
from huf.ai.runs.queue import work_on
from huf.ai.storage.drafts import read_draft
from huf.tests.api.test_approval_link import set_sign_in
from huf.tests.api.test_copilotkit import wish
from huf.tests.api.test_mcp import TASKS, McpTestCase
from huf.tests.api.test_openai import SECRET, make_key
from huf.tests.contract.connections import together
from huf.tests.factories import make_tool, make_user
from huf.tests.http import send
from huf.tests.model_server import text, tool_call

ROUNDS = int(os.environ.get("HUF_RACE_ROUNDS", 8))


class TestRaceOfEntryPoints(McpTestCase):
	"""REST, AG-UI, MCP, OpenAI's Responses and the link of the mail, each used by another Huf Manager."""

	def setUp(self):
		super().setUp()
		self.addCleanup(set_sign_in, True)
		set_sign_in(False)
		self.todo = make_tool("Create Document", reference_doctype="ToDo", requires_approval=1)
		self.makes = self.make_agent(self.todo)
		self.ways = {
			"rest": self.by_rest,
			"ag-ui": self.by_agui,
			"mcp": self.by_mcp,
			"responses": self.by_responses,
			"mail": self.by_mail,
		}
		self.users = {way: make_user("Huf User", "Huf Manager") for way in self.ways}
		self.keys = {way: make_key(user) for way, user in self.users.items()}
		frappe.db.set_value("Agent", self.makes, "approver", self.users["mail"])
		frappe.db.commit()
		frappe.clear_document_cache("Agent", self.makes)

	def token(self, way: str, scheme: str = "token") -> dict:
		return {"Authorization": f"{scheme} {self.keys[way]}:{SECRET}"}

	def by_rest(self, row, approved: bool) -> str:
		method, body = ("approve", {"digest": row.digest}) if approved else ("reject", {})
		path = f"/api/method/huf.api.draft.{method}"
		return send(path, method="POST", json={"draft": row.name, **body}, headers=self.token("rest")).text

	def by_agui(self, row, approved: bool) -> str:
		entry = {
			"interruptId": f"{row.name}.{row.digest}",
			"status": "resolved",
			"payload": {"approved": approved},
		}
		path = f"/copilotkit/stream?agent={self.makes}"
		return send(path, method="POST", json=wish(resume=[entry]), headers=self.token("ag-ui")).text

	def by_mcp(self, row, approved: bool) -> str:
		answer = {f"{row.name}.{row.digest[:16]}": {"action": "accept" if approved else "decline"}}
		for method, params in (("update", {"inputResponses": answer}), ("get", {})):
			request = self.build_request(
				f"tasks/{method}",
				{"taskId": row.run, **params},
				headers=self.token("mcp", "Bearer"),
				meta=TASKS,
			)
			response = send(**request)
		return response.text

	def by_responses(self, row, approved: bool) -> str:
		name = f"mcpr_{row.name}_{row.digest}"
		item = {"type": "mcp_approval_response", "approval_request_id": name, "approve": approved}
		body = {"model": self.makes, "input": [item]}
		return send("/v1/responses", method="POST", json=body, headers=self.token("responses", "Bearer")).text

	def by_mail(self, row, approved: bool) -> str:
		path = "/agent/approval" + make_approval_link(row).partition("/agent/approval")[2]
		return send(path, method="POST", data={"decision": "approve" if approved else "reject"}).text

	def test_one_of_five_concurrent_entry_points_decides_the_draft(self):
		with patch.object(queue, "enqueue_work", work_on):
			for number in range(ROUNDS):
				self.race(number)

	def race(self, number: int) -> None:
		"""Answer a new draft over all ways at once, with different answers."""
		title = f"race {frappe.generate_hash(length=8)}"
		card = self.start(
			tool_call(self.todo, {"description": title, "allocated_to": self.user}), agent=self.makes
		)["draft"]
		self.server.script(text("Done."))
		row = read_draft(card["draft"])
		frappe.db.commit()
		order = [*self.ways][number % 5 :] + [*self.ways][: number % 5]
		answers = {way: (place + number) % 3 != 0 for place, way in enumerate(order)}
		seen = dict(zip(order, together([(self.ways[way], row, answers[way]) for way in order]), strict=True))
		frappe.db.rollback()
		decided = read_draft(row.name)
		(winner,) = [way for way, user in self.users.items() if user == decided.answered_by]
		self.assertEqual(decided.status, "Applied" if answers[winner] else "Rejected", seen)
		self.assertEqual(frappe.db.get_value("Agent Run", row.run, "status"), "Success")
		self.assertEqual(frappe.db.count("ToDo", {"description": title}), int(answers[winner]))
		for way in set(order) - {winner, "mcp"}:
			self.assertIn("answered before", seen[way], way)
			self.assertIn(decided.answered_by, seen[way], way)
		self.assertNotIn("inputRequests", seen["mcp"])
