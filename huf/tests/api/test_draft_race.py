"""Concurrent answers to one draft over five entry points: one decides, and the call runs at most once."""

import os
from unittest.mock import patch

import frappe

from huf.ai.mail.approval_links import make_approval_link
from huf.ai.runs import queue
from huf.ai.runs.queue import work_on
from huf.ai.storage.drafts import read_draft
from huf.tests.api.test_approval_link import set_sign_in
from huf.tests.api.test_copilotkit import build_agui_request
from huf.tests.api.test_mcp import TASKS, McpTestCase
from huf.tests.api.test_openai import SECRET, make_key
from huf.tests.contract.connections import together
from huf.tests.factories import make_tool, make_user
from huf.tests.http import send
from huf.tests.model_server import text, tool_call

ROUNDS = int(os.environ.get("HUF_RACE_ROUNDS", 8))


class TestRaceOfEntryPoints(McpTestCase):
	"""REST, AG-UI, MCP, OpenAI's Responses and the mailed link, each used by a different Huf Manager."""

	def setUp(self):
		super().setUp()
		self.addCleanup(set_sign_in, True)
		set_sign_in(False)
		self.todo = make_tool("Create Document", reference_doctype="ToDo", requires_approval=1)
		self.creating_agent = self.make_agent(self.todo)
		self.entry_points = {
			"rest": self.by_rest,
			"ag-ui": self.by_agui,
			"mcp": self.by_mcp,
			"responses": self.by_responses,
			"mail": self.by_mail,
		}
		self.users = {name: make_user("Huf User", "Huf Manager") for name in self.entry_points}
		self.keys = {name: make_key(user) for name, user in self.users.items()}
		frappe.db.set_value("Agent", self.creating_agent, "approver", self.users["mail"])
		frappe.db.commit()
		frappe.clear_document_cache("Agent", self.creating_agent)

	def token(self, name: str, scheme: str = "token") -> dict:
		return {"Authorization": f"{scheme} {self.keys[name]}:{SECRET}"}

	def by_rest(self, draft, approved: bool) -> str:
		method, body = ("approve", {"digest": draft.digest}) if approved else ("reject", {})
		path = f"/api/method/huf.api.draft.{method}"
		return send(path, method="POST", json={"draft": draft.name, **body}, headers=self.token("rest")).text

	def by_agui(self, draft, approved: bool) -> str:
		entry = {
			"interruptId": f"{draft.name}.{draft.digest}",
			"status": "resolved",
			"payload": {"approved": approved},
		}
		path = f"/copilotkit/stream?agent={self.creating_agent}"
		return send(
			path, method="POST", json=build_agui_request(resume=[entry]), headers=self.token("ag-ui")
		).text

	def by_mcp(self, draft, approved: bool) -> str:
		answer = {f"{draft.name}.{draft.digest[:16]}": {"action": "accept" if approved else "decline"}}
		for method, params in (("update", {"inputResponses": answer}), ("get", {})):
			request = self.build_request(
				f"tasks/{method}",
				{"taskId": draft.run, **params},
				headers=self.token("mcp", "Bearer"),
				meta=TASKS,
			)
			response = send(**request)
		return response.text

	def by_responses(self, draft, approved: bool) -> str:
		name = f"mcpr_{draft.name}_{draft.digest}"
		item = {"type": "mcp_approval_response", "approval_request_id": name, "approve": approved}
		body = {"model": self.creating_agent, "input": [item]}
		return send("/v1/responses", method="POST", json=body, headers=self.token("responses", "Bearer")).text

	def by_mail(self, draft, approved: bool) -> str:
		path = "/agent/approval" + make_approval_link(draft).partition("/agent/approval")[2]
		return send(path, method="POST", data={"decision": "approve" if approved else "reject"}).text

	def test_one_of_five_concurrent_entry_points_decides_the_draft(self):
		with patch.object(queue, "enqueue_work", work_on):
			for number in range(ROUNDS):
				self.race(number)

	def race(self, number: int) -> None:
		"""Answer a new draft over all entry points at once, with different answers."""
		title = f"race {frappe.generate_hash(length=8)}"
		card = self.start(
			tool_call(self.todo, {"description": title, "allocated_to": self.user}), agent=self.creating_agent
		)["draft"]
		self.server.script(text("Done."))
		draft = read_draft(card["draft"])
		frappe.db.commit()
		order = [*self.entry_points][number % 5 :] + [*self.entry_points][: number % 5]
		answers = {name: (place + number) % 3 != 0 for place, name in enumerate(order)}
		responses = dict(
			zip(
				order,
				together([(self.entry_points[name], draft, answers[name]) for name in order]),
				strict=True,
			)
		)
		frappe.db.rollback()
		decided = read_draft(draft.name)
		(winner,) = [name for name, user in self.users.items() if user == decided.answered_by]
		self.assertEqual(decided.status, "Applied" if answers[winner] else "Rejected", responses)
		self.assertEqual(frappe.db.get_value("Agent Run", draft.run, "status"), "Success")
		self.assertEqual(frappe.db.count("ToDo", {"description": title}), int(answers[winner]))
		for name in set(order) - {winner, "mcp"}:
			self.assertIn("answered before", responses[name], name)
			self.assertIn(decided.answered_by, responses[name], name)
		self.assertNotIn("inputRequests", responses["mcp"])
