"""A replay from the journal is identical, byte for byte, and needs no network; two runs can be compared."""

import socket
from unittest import mock

import frappe

from huf.ai.chat.approvals import cancel_run
from huf.ai.core.errors import UsageError
from huf.ai.core.session import acting_as
from huf.ai.core.types import AgentRequest
from huf.ai.runs.entry import run_agent, run_agent_sync
from huf.ai.runs.queue import work_on
from huf.ai.runs.replay import diff, replay, replay_with
from huf.tests.base import SiteTestCase
from huf.tests.factories import make_agent, make_model, make_tool, make_user, unique
from huf.tests.model_server import ModelServer, call, cut, error, text, tool_call, tool_calls


class TestReplay(SiteTestCase):
	def setUp(self):
		super().setUp()
		self.find = make_tool("Get List", reference_doctype="ToDo")
		self.create = make_tool("Create Document", reference_doctype="ToDo")

	def test_runs_of_every_shape_replay_to_the_same_bytes(self):
		for name, answers in self.shapes():
			with self.subTest(name):
				run = self.run_with(answers)
				with no_network():
					self.assertTrue(replay(run).identical)

	def shapes(self):
		find, create = self.find, self.create
		# Three empty lists in a row would count as a stall.
		for _ in range(3):
			frappe.get_doc({"doctype": "ToDo", "description": "x"}).insert()
		frappe.db.commit()
		broken = cut(text("This breaks off in the middle"), after_chunks=2)
		return (
			("an answer", [text("Hello.")]),
			("an empty result", [tool_call(find, {"filters": {"name": "nothing"}}), text("None.")]),
			("a write", [tool_call(create, {"description": unique("a")}), text("Done.")]),
			(
				"text beside a call",
				[tool_calls([call(find, {"limit": 1})], content="Let me look."), text("One.")],
			),
			(
				"several calls",
				[tool_calls([call(find, {"limit": 1}), call(find, {"limit": 2})]), text("Two.")],
			),
			("three turns", [tool_call(find, {"limit": n}) for n in (1, 2, 3)] + [text("Three.")]),
			("an unknown tool", [tool_call("nothing", {}), text("Sorry.")]),
			("broken arguments", [tool_call(create, '{"description": "x'), text("Sorry.")]),
			("repaired arguments", [tool_call(find, '{"limit": 1,}'), text("One.")]),
			("arguments that do not fit", [tool_call(find, {"limit": "many"}), text("Sorry.")]),
			("a tool that fails", [tool_call(find, {"fields": ["no_such"]}), text("Sorry.")]),
			("a cut answer", [text("Half", finish_reason="length")]),
			("letters beyond ASCII", [text("Grüße, 日本語, 🙂 \u2028 \\ \" '")]),
			("a long answer", [text("word " * 9_000)]),
			("a refused key", [error(401)]),
			("a failing provider after a step", [tool_call(find, {"limit": 1}), error(400)]),
			("an answer that breaks off", [broken]),
			("the step cap", [*[tool_call(find, {"limit": n}) for n in (1, 2, 3)], text("So far.")]),
			(
				"the step cap and no summary",
				[*[tool_call(find, {"limit": n}) for n in (1, 2, 3)], error(400)],
			),
			("the step cap with text", [tool_calls([call(find, {})], content="Looking.")] * 3),
			("no usage", [text("Hello.", usage=None)]),
		)

	def test_a_second_run_of_a_conversation_replays_with_its_history(self):
		with ModelServer() as server:
			agent = make_agent(make_model(server), (self.find,))
			server.script(tool_call(self.find, {"limit": 1}), text("One."), text("Two."))
			run_agent_sync(agent, "First")
			run = run_agent_sync(agent, "Second")["run"]
		self.assertTrue(replay(run).identical)

	def test_replay_writes_nothing_and_detects_a_forged_tool_result(self):
		run = self.run_with([tool_call(self.create, {"description": unique("b")}), text("Done.")])
		before = frappe.db.count("ToDo"), frappe.db.count("Agent Tool Call")
		replay(run)
		self.assertEqual((frappe.db.count("ToDo"), frappe.db.count("Agent Tool Call")), before)
		frappe.db.set_value("Agent Tool Call", {"run": run}, "result", "forged")
		self.assertFalse(replay(run).identical)

	def test_replay_with_another_model_stops_at_the_first_different_call(self):
		run = self.run_with([tool_call(self.find, {"limit": 1}), text("One.")])
		with ModelServer() as server:
			other = make_model(server)
			server.script(tool_call(self.find, {"limit": 1}), text("A single one."))
			outcome, difference = replay_with(run, other)
			self.assertEqual((outcome.text, difference), ("A single one.", None))
			server.script(tool_call(self.create, {"description": "never"}))
			outcome, difference = replay_with(run, other)
		self.assertIn("Step 1", difference)
		self.assertFalse(frappe.db.exists("ToDo", {"description": ["like", "%never%"]}))

	def test_two_runs_are_compared_step_by_step(self):
		left = self.run_with([tool_call(self.find, {"limit": 1}), text("One.")])
		right = self.run_with([tool_call(self.find, {"limit": 2}), text("One.")])
		steps = diff(left, right)
		self.assertEqual([step["same"] for step in steps], [False, True])
		self.assertIn("different arguments", steps[0]["differences"][0])
		self.addCleanup(setattr, frappe.local, "lang", frappe.local.lang)
		frappe.local.lang = "de"
		self.assertIn("verschiedenen Argumenten", diff(left, right)[0]["differences"][0])

	def test_run_cancelled_before_a_call_was_made_cannot_be_replayed(self):
		update = make_tool("Create Document", reference_doctype="ToDo", requires_approval=1)
		with ModelServer() as server:
			server.script(tool_call(update, {"description": "x"}))
			run = run_agent_sync(make_agent(make_model(server), (update,)), "Add a to-do")["run"]
			cancel_run(run)
			work_on(run)
		with self.assertRaisesRegex(UsageError, "ended before its last calls were made"):
			replay(run)

	def test_run_of_another_user_cannot_be_replayed(self):
		run = self.run_with([text("My secret.")])
		with acting_as(make_user("Huf User")), self.assertRaises(frappe.PermissionError):
			replay(run)

	def run_with(self, answers) -> str:
		with ModelServer(strict=False) as server:
			agent = make_agent(make_model(server), (self.find, self.create), max_iterations=3)
			server.script(*answers)
			watcher = [lambda event: None]
			return run_agent(AgentRequest(agent, "Do it", "Administrator"), watcher).run


def no_network():
	def refuse(*args, **kwargs):
		raise AssertionError("a replay opened a connection")

	return mock.patch.object(socket.socket, "connect", refuse)
