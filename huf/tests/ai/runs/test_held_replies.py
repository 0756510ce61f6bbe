"""Replies and messages of a run wait for its next commit, but outlive a lost worker and a cancellation."""

import time
from datetime import timedelta
from unittest.mock import patch

import frappe
from frappe.utils import now_datetime

from huf.ai.core.types import AgentRequest, RunStatus
from huf.ai.runs.entry import run_agent_sync
from huf.ai.runs.queue import work_on
from huf.ai.runs.start import start_run
from huf.ai.storage import conversations
from huf.ai.storage.run_rows import request_cancel
from huf.ai.tools.registry import tool
from huf.tests.base import SiteTestCase, WorkerEnds, enter
from huf.tests.contract.connections import elsewhere
from huf.tests.factories import make_agent, make_model, make_tool, unique
from huf.tests.model_server import ModelServer, text, tool_call

HERE = __name__
SEEN: list = []


@tool()
def look_around(wait_s: float = 0) -> str:
	"""Records what another connection sees of this run after a wait."""
	run = frappe.flags.huf_run
	# An open transaction would block the other connection.
	frappe.db.commit()
	time.sleep(wait_s)
	SEEN.append(elsewhere(read_record, run))
	return f"look {len(SEEN)}"


@tool()
def end_worker() -> str:
	raise WorkerEnds("the worker ends here")


@tool()
def cancel_own_run() -> str:
	request_cancel(frappe.flags.huf_run)
	return "cancelled"


def read_record(run: str) -> tuple[list, list]:
	"""Statuses of the model calls, and the kinds of the messages."""
	calls = frappe.get_all("Agent LLM Call", {"run": run}, pluck="status", order_by="step asc")
	return calls, list_kinds(run)


def list_kinds(run: str) -> list:
	return frappe.get_all("Agent Message", {"run": run}, pluck="kind", order_by="sequence asc")


class TestHeldReplies(SiteTestCase):
	def setUp(self):
		super().setUp()
		SEEN.clear()
		self.server = enter(self, ModelServer(strict=False))
		self.look, self.end, self.cancel = (
			make_tool("Custom Function", function_path=f"{HERE}.{name}", effect="read")
			for name in ("look_around", "end_worker", "cancel_own_run")
		)
		self.agent = make_agent(make_model(self.server), (self.look, self.end, self.cancel))

	def run_agent(self, *answers) -> dict:
		self.server.script(*answers, text("Done."))
		return run_agent_sync(self.agent, "Look", external_id=unique("look"))

	def test_reply_with_a_quick_read_call_is_committed_with_its_result(self):
		self.run_agent(tool_call(self.look), tool_call(self.look, {"wait_s": 0.01}))
		self.assertEqual([calls for calls, _ in SEEN], [["Started"], ["Success", "Started"]])

	def test_reply_is_committed_during_a_slow_read(self):
		self.run_agent(tool_call(self.look, {"wait_s": 1.2}))
		self.assertEqual(SEEN[0][0], ["Success"])

	def test_reply_with_a_write_call_is_committed_before_the_call(self):
		frappe.db.set_value("Agent Tool Function", self.look, "effect", "write")
		frappe.clear_document_cache("Agent", self.agent)
		agent = make_agent(make_model(self.server), (self.look,))
		self.server.script(tool_call(self.look), text("Done."))
		run_agent_sync(agent, "Look")
		self.assertEqual(SEEN[0][0], ["Success"])

	def test_step_messages_are_written_at_the_end_or_after_a_delay(self):
		looks = [tool_call(self.look), tool_call(self.look, {"wait_s": 0.01})]
		result = self.run_agent(*looks)
		whole = ["Message", *["Tool Call", "Tool Result"] * 2, "Message"]
		self.assertEqual((SEEN[1][1], list_kinds(result["run"])), (["Message"], whole))
		SEEN.clear()
		with patch.object(conversations, "MESSAGES_AFTER_S", 0):
			result = self.run_agent(*looks)
		self.assertEqual((SEEN[1][1], list_kinds(result["run"])), (whole[:3], whole))

	def test_cancelled_run_makes_and_records_no_further_model_call(self):
		result = self.run_agent(tool_call(self.cancel))
		self.assertEqual((result["status"], len(self.server.requests)), ("Cancelled", 1))
		self.assertEqual(read_record(result["run"]), (["Success"], ["Message", "Tool Call", "Tool Result"]))

	def test_steps_of_a_lost_worker_are_in_the_conversation_for_every_outcome(self):
		for end in ("Success", "Cancelled", "Failed"):
			with self.subTest(end):
				run = self.lose_worker()
				self.assertEqual(list_kinds(run), ["Message"])
				if end == "Success":
					self.server.script(text("Done."))
				elif end == "Cancelled":
					request_cancel(run)
				else:
					frappe.delete_doc("Agent", self.agent, force=True)
				result = work_on(run, now_datetime() + timedelta(hours=1))
				self.assertEqual(result.status.value, end)
				self.assertEqual(list_kinds(run)[:3], ["Message", "Tool Call", "Tool Result"])

	def lose_worker(self) -> str:
		self.server.script(tool_call(self.look), tool_call(self.end))
		request = AgentRequest(
			self.agent, "Look", "Administrator", channel="lost", external_id=unique("lost")
		)
		run = start_run(request, RunStatus.QUEUED).name
		with self.assertRaises(WorkerEnds):
			work_on(run)
		frappe.db.rollback()
		frappe.set_user("Administrator")
		return run
