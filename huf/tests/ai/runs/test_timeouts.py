"""Tools and runs that time out or return unusable results end with a clear status; the next run works."""

import asyncio
import threading
import time
from unittest.mock import patch

import frappe

from huf.ai.core import progress
from huf.ai.core.event_loops import run_coroutine
from huf.ai.core.events import EventKind
from huf.ai.core.session import acting_as
from huf.ai.core.settings import read_settings
from huf.ai.core.types import AgentRequest, RunStatus
from huf.ai.providers.litellm import warm_up
from huf.ai.runs.entry import run_agent, run_agent_sync, stream_agent
from huf.ai.storage import leases
from huf.ai.tools.registry import report_progress, tool
from huf.tests.base import SiteTestCase, enter
from huf.tests.factories import make_agent, make_model, make_tool, make_user, unique
from huf.tests.model_server import ModelServer, call, stall, text, tool_call, tool_calls

HERE = __name__
RELEASE = threading.Event()
ENDED = threading.Event()
SEEN: list[tuple] = []
QUICK_S, MANY = 0.1, 12
"""With `MANY` reports at this distance, a tool takes longer than its timeout of one second."""


@tool()
def hang_after_writing(title: str):
	"""Writes, hangs until released, and then tries to write more."""
	frappe.get_doc({"doctype": "Note", "title": title}).insert()
	RELEASE.wait(30)
	try:
		frappe.get_doc({"doctype": "Note", "title": f"{title} later"}).insert()
		frappe.db.commit()
	finally:
		ENDED.set()


@tool()
def hang_as_administrator():
	with acting_as("Administrator"):
		frappe.flags.huf_test_flag = True
		RELEASE.wait(30)


@tool()
def hang_on_own_connection(title: str):
	frappe.connect(set_admin_as_user=False)
	hang_after_writing(title)


@tool()
def record_user():
	SEEN.append((frappe.session.user, frappe.flags.huf_test_flag))


@tool()
async def hang_outside():
	await asyncio.sleep(30)


@tool()
def work_through(rows: int, pause: float = 0.6, step_s: float = 0.6):
	"""Reports progress for each row, then pauses without a report."""
	SEEN.append(read_lease())
	for row in range(rows):
		time.sleep(step_s)
		report_progress(f"Row {row}\nof {rows}", row / rows)
	SEEN.append(read_lease())
	RELEASE.wait(pause)
	return "done"


@tool()
async def work_through_async(rows: int):
	for row in range(rows):
		await asyncio.sleep(QUICK_S)
		report_progress(f"Row {row}", 7)
	return "done"


def read_lease():
	frappe.db.rollback()
	return frappe.db.get_value("Agent Run", {"status": "Started"}, "lease_until", order_by="creation desc")


@tool()
def always_fail(no: int):
	raise ValueError(f"out of order: {no}")


@tool()
def return_fifty_megabytes():
	return "x" * 50_000_000


@tool()
def return_no_json():
	return {"when": time.localtime(), "what": object(), "raw": b"\xff\xfe", "half": "\ud83d"}


class TestTimeouts(SiteTestCase):
	@classmethod
	def setUpClass(cls):
		super().setUpClass()
		# A run with a timeout of one second must not spend it on the first import of LiteLLM.
		run_coroutine(warm_up())

	def setUp(self):
		super().setUp()
		self.server = enter(self, ModelServer(strict=False))
		self.set_setting("tool_timeout", 1)
		self.addCleanup(self.set_setting, "tool_timeout", 60)

	def set_setting(self, field, value):
		frappe.db.rollback()
		settings = frappe.get_doc("Huf Settings")
		settings.set(field, value)
		settings.save()
		frappe.db.commit()

	def make_agent(self, function: str, effect: str, **values) -> str:
		self.tool = make_tool("Custom Function", function_path=f"{HERE}.{function}", effect=effect)
		return make_agent(make_model(self.server), (self.tool,), **values)

	def progress_of(self, function: str, effect: str, **arguments) -> tuple[list, str, str]:
		"""Returns the (text, fraction) pairs that the call reported, its status and its error."""
		agent = self.make_agent(function, effect)
		self.server.script(tool_call(self.tool, arguments), text("It ended."))
		events = [event for event in stream_agent(AgentRequest(agent, "Work", "Administrator")) if event]
		reports = [event.data for event in events if event.kind is EventKind.PROGRESS]
		row = self.call_row(events[-1].run)
		shown = [(each["text"], each["fraction"]) for each in reports if "fraction" in each]
		return shown, row.status, row.error_message or ""

	def test_default_timeouts_are_a_minute_per_call_and_ten_minutes_inline(self):
		settings = read_settings(frappe.new_doc("Huf Settings"))
		self.assertEqual(
			(settings.model_timeout, settings.tool_timeout, settings.inline_timeout), (60, 60, 600)
		)

	def test_tool_that_reports_progress_may_exceed_the_timeout(self):
		enter(self, patch.object(progress, "PAUSE_S", 0))
		for effect in ("read", "write"):
			with self.subTest(effect):
				shown, status, error = self.progress_of("work_through", effect, rows=MANY, step_s=QUICK_S)
				self.assertEqual((status, error), ("Success", ""))
				self.assertEqual(shown, [(f"Row {n} of {MANY}", n / MANY) for n in range(MANY)])
		shown, status, _ = self.progress_of("work_through_async", "external", rows=MANY)
		self.assertEqual((shown, status), ([(f"Row {n}", 1.0) for n in range(MANY)], "Success"))

	def test_tool_that_stops_reporting_progress_times_out(self):
		RELEASE.clear()
		self.addCleanup(RELEASE.set)
		shown, status, error = self.progress_of("work_through", "write", rows=1, pause=30, step_s=QUICK_S)
		self.assertEqual((len(shown), status), (1, "Failed"))
		self.assertIn("reported no progress for 1 seconds", error)

	def test_progress_reports_renew_the_lease(self):
		SEEN.clear()
		# Every check finds the lease due for renewal.
		with patch.object(leases, "RENEW_AFTER_S", -1):
			_, status, _ = self.progress_of("work_through", "read", rows=2 * MANY, step_s=QUICK_S)
		self.assertEqual(status, "Success")
		begun, later = SEEN
		self.assertGreater((later - begun).total_seconds(), 1)

	def test_progress_report_outside_a_call_is_ignored(self):
		self.assertIsNone(report_progress("Nobody listens", 0.5))

	def call_row(self, run: str):
		return frappe.get_last_doc("Agent Tool Call", {"run": run})

	def test_hanging_tool_is_abandoned_and_its_writes_are_rolled_back(self):
		for function in ("hang_after_writing", "hang_on_own_connection"):
			with self.subTest(function):
				RELEASE.clear(), ENDED.clear()
				agent, title = self.make_agent(function, "write"), unique("Note")
				self.server.script(tool_call(self.tool, {"title": title}), text("It took too long."))
				result = run_agent_sync(agent, "Write")
				row = self.call_row(result["run"])
				self.assertEqual((result["status"], row.status), ("Success", "Failed"))
				self.assertIn("did not end within 1 seconds", row.error_message)
				RELEASE.set()
				self.assertTrue(ENDED.wait(10))
				notes = frappe.get_all("Note", {"title": ["like", f"{title}%"]}, order_by="name asc")
				self.assertEqual(notes, [])

	def test_run_keeps_its_user_after_a_hanging_tool_changed_the_session_user(self):
		RELEASE.clear(), SEEN.clear()
		self.addCleanup(RELEASE.set)
		user, agent = make_user("Huf User"), self.make_agent("hang_as_administrator", "read")
		look = make_tool("Custom Function", function_path=f"{HERE}.record_user", effect="read")
		doc = frappe.get_doc("Agent", agent)
		doc.append("agent_tool", {"tool": look})
		doc.save()
		frappe.db.commit()
		self.server.script(tool_call(self.tool), tool_call(look), text("I see."))
		session_data = frappe.session.data
		result = run_agent(AgentRequest(agent, "Look", user))
		self.assertEqual((result.status, SEEN), (RunStatus.SUCCESS, [(user, None)]))
		self.assertEqual((frappe.session.user, frappe.flags.huf_test_flag), ("Administrator", None))
		self.assertIs(frappe.session.data, session_data)

	def test_hanging_external_call_gets_the_status_unknown(self):
		agent = self.make_agent("hang_outside", "external")
		self.server.script(tool_call(self.tool), text("I cannot say."))
		result = run_agent_sync(agent, "Reach out")
		self.assertEqual((result["status"], self.call_row(result["run"]).status), ("Success", "Unknown"))

	def test_run_timeout_during_a_hanging_tool_refuses_the_remaining_calls(self):
		self.set_setting("tool_timeout", 60)
		# Long enough for the model's answer on a busy machine.
		agent = self.make_agent("hang_outside", "write", run_timeout=3)
		self.server.script(tool_calls([call(self.tool), call(self.tool)]))
		result = run_agent_sync(agent, "Wait")
		self.assertEqual((result["status"], result["stop_reason"]), ("Stopped", "timeout"))
		self.assertIn("3 seconds", result["error"])
		rows = frappe.get_all(
			"Agent Tool Call", {"run": result["run"]}, pluck="status", order_by="position asc"
		)
		self.assertEqual(rows, ["Failed", "Refused"])

	def test_run_timeout_stops_a_run_whose_model_stream_stalls(self):
		agent = self.make_agent("return_no_json", "read", run_timeout=1)
		self.server.script(stall(text("Half of the answer is here, the rest never comes."), 2))
		result = run_agent_sync(agent, "Answer")
		self.assertEqual((result["status"], result["stop_reason"]), ("Stopped", "timeout"))

	def test_run_timeout_cancels_child_runs_and_releases_their_reservations(self):
		self.set_setting("tool_timeout", 60)
		child = make_agent(make_model(self.server), daily_cost_limit=1)
		tool = make_tool("Run Agent", agent=child)
		parent = make_agent(make_model(self.server), (tool,), run_timeout=3)
		self.server.script(tool_call(tool, {"prompt": "Work"}), stall(text("I think about it."), 1))
		result = run_agent_sync(parent, "Have it done")
		child_run = frappe.get_last_doc("Agent Run", {"parent_run": result["run"]})
		self.assertEqual((result["stop_reason"], child_run.status), ("timeout", "Cancelled"))
		budget = frappe.db.get_value(
			"Agent Budget", {"holder": child}, ["cost", "reserved_cost"], as_dict=True
		)
		self.assertGreater(budget.cost, 0)
		self.assertAlmostEqual(budget.reserved_cost, 0)

	def test_repeated_tool_failures_stop_the_run_and_list_the_failed_calls(self):
		agent = self.make_agent("always_fail", "read")
		self.server.script(*[tool_call(self.tool, {"no": n}) for n in range(2)])
		result = run_agent_sync(agent, "Try")
		self.assertEqual((result["status"], result["stop_reason"]), ("Stopped", "tool_failures"))
		self.assertIn(f"Tool {self.tool} failed 2 consecutive times.", result["error"])
		self.assertEqual([o["status"] for o in result["observations"]], ["Failed", "Failed"])

	def test_fifty_megabyte_tool_result_is_truncated_and_the_run_succeeds(self):
		self.set_setting("tool_timeout", 60)
		agent = self.make_agent("return_fifty_megabytes", "read")
		self.server.script(tool_call(self.tool), text("That was long."))
		result = run_agent_sync(agent, "Read")
		self.assertEqual(result["status"], "Success")
		seen = self.server.requests[-1]["messages"][-1]["content"]
		self.assertLess(len(seen), 100_000)
		self.assertIn("of 50,000,000 characters", self.call_row(result["run"]).result[-200:])

	def test_tool_result_that_is_not_json_serializable_is_accepted(self):
		agent = self.make_agent("return_no_json", "read")
		self.server.script(tool_call(self.tool), text("Odd."))
		result = run_agent_sync(agent, "Read")
		self.assertEqual((result["status"], self.call_row(result["run"]).status), ("Success", "Success"))

	def test_run_after_a_timed_out_tool_succeeds(self):
		agent = self.make_agent("hang_outside", "read")
		self.server.script(tool_call(self.tool), text("No."), text("Hello."))
		conversation = run_agent_sync(agent, "Wait")["conversation"]
		self.assertEqual(run_agent_sync(agent, "Hi", conversation_id=conversation)["response"], "Hello.")
