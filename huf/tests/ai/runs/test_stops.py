"""The stop switch: what it prevents, who may use it, and what a release resumes."""

from contextvars import copy_context
from dataclasses import replace

import frappe

from huf.ai.chat.approvals import approve_call, cancel_run
from huf.ai.core.costs import WorstCase
from huf.ai.core.errors import UsageError
from huf.ai.core.session import acting_as
from huf.ai.core.settings import find_cached
from huf.ai.core.types import AgentRequest, RunStatus
from huf.ai.runs.entry import run_agent
from huf.ai.runs.queue import work_on
from huf.ai.runs.start import start_run
from huf.ai.runs.stopping import release, stop
from huf.ai.storage.standalone_calls import complete_within_budget
from huf.ai.storage.stops import read_stops
from huf.ai.tools.registry import tool
from huf.api.stop import get_stops
from huf.tests.api.test_openai import SECRET, make_key
from huf.tests.base import SiteTestCase, enter
from huf.tests.contract.connections import elsewhere
from huf.tests.factories import make_agent, make_model, make_tool, make_user, remove_stops, unique
from huf.tests.http import post
from huf.tests.model_server import ModelServer, text, tool_call


class TestStops(SiteTestCase):
	def setUp(self):
		super().setUp()
		self.server = enter(self, ModelServer(strict=False))
		self.tool = make_tool("Create Document", reference_doctype="ToDo")
		self.model = make_model(self.server)
		self.agent = make_agent(self.model, (self.tool,), persist_conversation=0)
		self.label = unique("stopped")
		self.addCleanup(remove_stops)

	def request(self, **values) -> AgentRequest:
		return AgentRequest(self.agent, "Go", "Administrator", external_id=unique("stop"), **values)

	def stop_during(self, calls: int, scope: str, target: str | None) -> None:
		"""Stops the target while the model answers this call, counted from 1; 0: never."""
		seen, context = [], copy_context()

		def answer(request):
			seen.append(1)
			if len(seen) == calls:
				context.run(stop_elsewhere, scope, target)
			done = sum(message["role"] == "tool" for message in request["messages"])
			return text("Done.") if done else tool_call(self.tool, {"description": self.label})

		self.seen = seen
		self.server.forever(answer)

	def count_written(self) -> int:
		frappe.db.rollback()
		return frappe.db.count("ToDo", {"description": ["like", f"%{self.label}%"]})

	def test_only_users_who_may_read_stops_see_them(self):
		stop("Agent", self.agent, "It wrote nonsense")
		for roles, count in ((("Huf User",), 1), ((), 0)):
			with acting_as(make_user(*roles)):
				self.assertEqual(len(get_stops()), count)

	def test_no_write_is_committed_after_a_stop_and_the_release_ends_the_run_once(self):
		for scope, target in (
			("All", None),
			("Agent", self.agent),
			("Tool", self.tool),
			("Provider", frappe.db.get_value("AI Model", self.model, "provider")),
			("User", "Administrator"),
		):
			with self.subTest(scope):
				self.label = unique("stopped")
				self.stop_during(1, scope, target)
				result = run_agent(self.request())
				self.assertEqual((result.status, self.count_written()), (RunStatus.QUEUED, 0))
				held = frappe.db.get_value("Agent Run", result.run, ["status", "held_by", "worker"])
				self.assertEqual(held, ("Queued", read_stops()[0]["name"], None))
				self.assertIsNone(work_on(result.run))
				self.assertEqual((self.count_written(), len(self.seen)), (0, 1))
				self.assertIn(result.run, release(read_stops()[0]["name"]))
				work_on(result.run)
				status = frappe.db.get_value("Agent Run", result.run, ["status", "held_by"])
				self.assertEqual((status, self.count_written(), len(self.seen)), (("Success", None), 1, 2))

	def test_no_model_call_begins_after_a_stop(self):
		note = make_tool(
			"Custom Function", function_path="huf.tests.ai.runs.test_stops.stop_all", effect="read"
		)
		agent = make_agent(self.model, (note,), persist_conversation=0)
		self.server.forever(lambda request: tool_call(note, {}))
		result = run_agent(AgentRequest(agent, "Go", "Administrator", external_id=unique("x")))
		self.assertEqual(result.status, RunStatus.QUEUED)
		self.assertEqual(frappe.db.count("Agent LLM Call", {"run": result.run}), 1)
		# If another test recovered this run, it would stop everything again.
		cancel_run(result.run)
		remove_stops()
		work_on(result.run)
		self.assertEqual(frappe.db.get_value("Agent Run", result.run, "status"), "Cancelled")

	def test_stop_of_another_agent_does_not_affect_the_run(self):
		self.stop_during(1, "Agent", make_agent())
		result = run_agent(self.request())
		self.assertEqual((result.status, self.count_written()), (RunStatus.SUCCESS, 1))

	def test_renamed_agent_and_tool_stay_stopped(self):
		self.stop_during(0, "All", None)
		stop("Tool", self.tool, "It deletes things")
		stop("Agent", self.agent, "It deletes things")
		names = [f"renamed_{frappe.generate_hash(length=8)}" for _ in range(2)]
		frappe.rename_doc("Agent Tool Function", self.tool, names[0])
		frappe.rename_doc("Agent", self.agent, names[1])
		frappe.db.commit()
		with self.assertRaisesRegex(UsageError, f"Agent {names[1]} was stopped"):
			run_agent(replace(self.request(), agent=names[1]))
		self.assertEqual([each["target"] for each in read_stops()], names)
		stored = frappe.get_all("Agent Stop", {"target": ["in", names]}, pluck="target", order_by="creation")
		self.assertEqual(stored, names)

	def test_no_model_of_a_stopped_provider_is_called_outside_runs(self):
		stop("Provider", frappe.db.get_value("AI Model", self.model, "provider"), "It leaks")
		with self.assertRaisesRegex(UsageError, "It leaks"):
			complete_within_budget(WorstCase(self.model), lambda: None)

	def test_stop_holds_queued_runs_and_refuses_inline_runs_with_its_reason(self):
		self.stop_during(0, "All", None)
		name = stop("Agent", self.agent, "It deletes things")["stop"]["name"]
		run = start_run(self.request(), RunStatus.QUEUED).name
		self.assertIsNone(work_on(run))
		self.assertEqual(frappe.db.get_value("Agent Run", run, ["status", "held_by"]), ("Queued", name))
		with self.assertRaisesRegex(UsageError, "Administrator.*It deletes things"):
			run_agent(self.request())
		self.assertEqual(self.seen, [])

	def test_drafts_of_a_stopped_tool_cannot_be_approved_until_its_release(self):
		frappe.db.set_value("Agent Tool Function", self.tool, "requires_approval", 1)
		frappe.db.commit()
		frappe.clear_cache()
		self.stop_during(0, "All", None)
		draft = run_agent(self.request()).draft
		name = stop("Tool", self.tool, "wait")["stop"]["name"]
		with self.assertRaisesRegex(UsageError, "wait"):
			approve_call(draft["draft"], draft["digest"])
		release(name)
		approve_call(draft["draft"], draft["digest"])
		work_on(draft["run"])
		self.assertEqual(self.count_written(), 1)

	def test_only_managers_stop_and_release(self):
		name = stop("All", None, "x")["stop"]["name"]
		frappe.set_user(make_user("Huf User"))
		with self.assertRaises(frappe.PermissionError):
			stop("All")
		with self.assertRaises(frappe.PermissionError):
			release(name)
		self.assertEqual([each["name"] for each in read_stops()], [name])

	def test_unknown_stop_targets_and_scopes_are_refused(self):
		for scope, target in (
			("Agent", "nobody"),
			("Tool", "nothing"),
			("Weather", None),
			("Agent", None),
			("Agent", " "),
			("All", self.agent),
		):
			with self.assertRaises(UsageError):
				stop(scope, target)
		self.assertEqual(read_stops(), [])
		with self.assertRaisesRegex(UsageError, "There is no stop 'nothing'"):
			release("nothing")

	def test_request_that_names_no_scope_or_an_unknown_argument_stops_nothing(self):
		path = "/api/method/huf.api.stop.stop"
		headers = {"Authorization": f"token {make_key(make_user('Huf Manager'))}:{SECRET}"}
		for form, told in (
			({"agnet": self.agent}, "Unknown arguments: agnet"),
			({"scope": "All", "agent": self.agent}, "Unknown arguments: agent"),
			({"target": self.agent}, "Choose one of: All, Agent"),
			({}, "Choose one of: All, Agent"),
		):
			answer = post(path, json=form, headers=headers)
			self.assertEqual(answer.status_code, 417, answer.text)
			self.assertIn(told, answer.text)
		self.assertEqual(read_stops(), [])
		answer = post(path, json={"scope": "Agent", "target": self.agent}, headers=headers)
		self.assertEqual(answer.json["message"]["stop"]["target"], self.agent, answer.text)

	def test_agent_name_in_another_case_is_covered_by_the_stop(self):
		"""MariaDB and SQLite ignore the case of names; Postgres does not."""
		other = self.agent.upper()
		if not frappe.db.exists("Agent", other):
			self.skipTest("Names are case-sensitive in this database")
		self.stop_during(0, "All", None)
		run = run_agent(replace(self.request(), agent=other)).run
		self.assertEqual(frappe.db.get_value("Agent Run", run, "agent"), self.agent)
		stop("Agent", self.agent)
		with self.assertRaisesRegex(UsageError, "was stopped by"):
			run_agent(replace(self.request(), agent=other))
		remove_stops()
		self.assertEqual(stop("Agent", other)["stop"]["target"], self.agent)

	def test_agent_name_in_another_case_is_not_cached_separately(self):
		other = self.agent.upper()
		self.assertEqual(find_cached("Agent", other) is None, not frappe.db.exists("Agent", other))
		frappe.get_doc("Agent", self.agent).update({"disabled": 1}).save()
		self.assertTrue(find_cached("Agent", other) is None or find_cached("Agent", other).disabled)


@tool()
def stop_all() -> str:
	stop_elsewhere("All", None)
	return "ok"


def stop_elsewhere(scope: str, target: str | None) -> None:
	"""Stops as another request would, on a connection of its own."""
	elsewhere(stop, scope, target, "test")
