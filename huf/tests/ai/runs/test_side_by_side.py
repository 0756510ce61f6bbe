"""Calls of one turn that run concurrently, and agents whose called agents wait for approval."""

import threading
from unittest.mock import patch

import frappe

from huf.ai.chat.approvals import approve_call, cancel_run, reject_call
from huf.ai.core.call_key import CALL_KEY
from huf.ai.core.event_loops import run_coroutine
from huf.ai.core.session import acting_as
from huf.ai.core.types import AgentRequest
from huf.ai.providers.litellm import warm_up
from huf.ai.runs import queue
from huf.ai.runs.entry import run_agent, run_agent_sync, stream_agent
from huf.ai.runs.queue import work_on
from huf.ai.runs.replay import replay
from huf.ai.tools.registry import tool
from huf.tests.base import enter
from huf.tests.drafting import DraftTestCase
from huf.tests.factories import make_agent, make_model, make_tool
from huf.tests.model_server import ModelServer, call, slow, text, tool_call, tool_calls

HERE = __name__
all_four = threading.Barrier(4, timeout=20)


@tool(effect="read")
def read_together(no: int):
	"""Fails unless four calls run at the same time."""
	all_four.wait()
	return {"no": no, "user": frappe.session.user, "todos": frappe.db.count("ToDo")}


class SideBySideTestCase(DraftTestCase):
	@classmethod
	def setUpClass(cls):
		super().setUpClass()
		# A run with a timeout of one second must not spend it on the first import of LiteLLM.
		run_coroutine(warm_up())

	def make_child(self, *tools) -> tuple[ModelServer, str]:
		"""Makes an agent with its own model; returns the model's server and a tool that calls the agent."""
		server = enter(self, ModelServer())
		child = make_agent(make_model(server), tools)
		return server, make_tool("Run Agent", agent=child)


class TestSideBySide(SideBySideTestCase):
	def test_two_agents_work_at_the_same_time(self):
		children = [self.make_child() for _ in range(2)]
		for server, _ in children:
			server.script(slow(2, text("Done.")))
		agent = self.make_agent(*(tool for _, tool in children))
		self.server.script(
			tool_calls([call(tool, {"prompt": "Work"}) for _, tool in children]), text("Both.")
		)
		result = run_agent_sync(agent, "Have it done")
		self.assertEqual((result["response"], result["status"]), ("Both.", "Success"))
		fields = ["status", "started_at", "ended_at"]
		first, second = frappe.get_all(
			"Agent Run", {"parent_run": result["run"]}, fields, order_by="started_at asc"
		)
		self.assertEqual((first.status, second.status), ("Success", "Success"))
		self.assertLess(second.started_at, first.ended_at)
		self.assertTrue(replay(result["run"]).identical)
		self.assertIsNone(CALL_KEY.get())

	def test_one_agent_called_twice_in_a_turn_answers_both_calls(self):
		server, tool = self.make_child()
		server.forever(lambda body: text(f"About {body['messages'][-1]['content']}."))
		agent = self.make_agent(tool)
		self.server.script(tool_calls([call(tool, {"prompt": topic}) for topic in ("A", "B")]), text("Both."))
		self.assertEqual(run_agent_sync(agent, "Ask twice")["response"], "Both.")
		results = [each["content"] for each in self.server.requests[-1]["messages"] if each["role"] == "tool"]
		self.assertEqual(["About A." in results[0], "About B." in results[1]], [True, True])

	def test_read_calls_of_a_turn_run_concurrently_as_the_run_user(self):
		tool = make_tool("Custom Function", function_path=f"{HERE}.read_together", effect="read")
		self.server.script(tool_calls([call(tool, {"no": no}) for no in range(4)]), text("Four."))
		request = AgentRequest(self.make_agent(tool), "Read", self.user)
		result = run_agent(request)
		results = [each["content"] for each in self.server.requests[-1]["messages"] if each["role"] == "tool"]
		self.assertEqual([f'"no": {no}' in each for no, each in enumerate(results)], [True] * 4)
		self.assertTrue(all(self.user in each for each in results))
		self.assertEqual(self.calls(result.run), [(tool, "Success")] * 4)

	def test_timeout_of_a_run_cancels_its_child_runs(self):
		children = [self.make_child() for _ in range(2)]
		for server, _ in children:
			# Not scripted: on a busy machine a model may not be called in time.
			server.forever(slow(20, text("Too late.")))
		agent = self.make_agent(*(tool for _, tool in children), run_timeout=3)
		self.server.script(tool_calls([call(tool, {"prompt": "Work"}) for _, tool in children]))
		result = run_agent_sync(agent, "Have it done")
		self.assertEqual(result["stop_reason"], "timeout")
		frappe.db.rollback()
		fields = ["status", "cancel_requested"]
		runs = frappe.get_all("Agent Run", {"parent_run": result["run"]}, fields, order_by="name asc")
		self.assertEqual(len(runs), 2)
		# A run that did not end in time is ended by the worker that takes it over.
		self.assertTrue(all(run.status == "Cancelled" or run.cancel_requested for run in runs), runs)


class TestChildThatWaits(SideBySideTestCase):
	def setUp(self):
		super().setUp()
		self.child_server, self.call_child = self.make_child(self.update)
		self.parent = self.make_agent(self.call_child)

	def start_parent(self, *answers) -> dict:
		"""Starts a run whose called agent waits for approval of a change."""
		self.child_server.script(self.change("new"))
		result = self.start(tool_call(self.call_child, {"prompt": "Change it"}), *answers, agent=self.parent)
		self.assertEqual(result["status"], "Waiting", result)
		return result

	def answer(self, result: dict, decide=approve_call):
		"""Answers the first draft; workers resume the runs at once."""
		card = result["draft"]
		with patch.object(queue, "enqueue_work", work_on), acting_as(self.user):
			decide(card["draft"], card["digest"])

	def outcome(self, result: dict):
		frappe.db.rollback()
		return frappe.db.get_value("Agent Run", result["run"], ["status", "response"])

	def test_caller_waits_for_a_child_approval_and_continues_with_its_result(self):
		result = self.start_parent(text("It is changed."))
		self.assertEqual(result["draft"]["tool"], self.update)
		self.assertEqual(self.calls(result["run"]), [])
		self.child_server.script(text("I changed it."))
		self.answer(result)
		self.assertEqual(self.outcome(result), ("Success", "It is changed."))
		self.assertIn("I changed it.", self.seen())
		self.assertEqual((self.note(), self.calls(result["run"])), ("new", [(self.call_child, "Success")]))
		self.assertEqual(frappe.db.count("Agent Run", {"parent_run": result["run"]}), 1)
		self.assertTrue(replay(result["run"]).identical)

	def test_rejection_in_a_child_run_reaches_the_caller(self):
		result = self.start_parent(text("It stays."))
		self.child_server.script(text("They said no."))
		self.answer(result, reject_call)
		self.assertEqual(self.outcome(result), ("Success", "It stays."))
		self.assertIn("They said no.", self.seen())

	def test_recovery_finds_a_waiting_caller_whose_child_has_ended(self):
		result = self.start_parent(text("It is changed."))
		self.child_server.script(text("I changed it."))
		with acting_as(self.user):
			approve_call(result["draft"]["draft"], result["draft"]["digest"])
		self.assertNotIn(result["run"], queue.recover_runs())
		child = frappe.db.get_value("Agent Run", {"parent_run": result["run"]}, "name")
		with patch.object(queue, "follow_up"):
			self.go_on(child)
		self.assertEqual(self.outcome(result)[0], "Waiting")
		self.assertIn(result["run"], queue.recover_runs())
		self.assertEqual(self.go_on(result["run"]).response, "It is changed.")

	def test_sibling_of_a_waiting_child_finishes_and_is_not_called_again(self):
		other_server, other = self.make_child()
		other_server.script(text("Nothing to approve."))
		agent = self.make_agent(self.call_child, other)
		self.child_server.script(self.change("new"))
		both = [call(name, {"prompt": "Work"}) for name in (self.call_child, other)]
		result = self.start(tool_calls(both), text("Merged."), agent=agent)
		self.assertEqual(self.calls(result["run"]), [(other, "Success")])
		self.child_server.script(text("I changed it."))
		self.answer(result)
		self.assertEqual(self.outcome(result), ("Success", "Merged."))
		results = [each["content"] for each in self.server.requests[-1]["messages"] if each["role"] == "tool"]
		self.assertEqual(["I changed it." in results[0], "Nothing to approve." in results[1]], [True, True])

	def test_stream_of_the_caller_ends_with_the_drafts_of_its_child(self):
		self.child_server.script(self.change("new"))
		self.server.script(tool_call(self.call_child, {"prompt": "Change it"}))
		*_, last = stream_agent(AgentRequest(self.parent, "Go", self.user, channel="s"))
		self.assertEqual((last.kind.value, len(last.data["drafts"])), ("run_waiting", 1))

	def test_cancelling_the_caller_ends_the_called_run(self):
		result = self.start_parent()
		with patch.object(queue, "enqueue_work", work_on):
			cancel_run(result["run"])
		child = frappe.db.get_value("Agent Run", {"parent_run": result["run"]}, "status")
		self.assertEqual((self.outcome(result)[0], child), ("Cancelled", "Cancelled"))
		self.assertEqual(self.draft(result).status, "Expired")
