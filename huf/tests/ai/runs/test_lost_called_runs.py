"""A run that another run has called is neither repeated nor left half done when a worker is lost."""

from datetime import timedelta

import frappe
from frappe.utils import now_datetime

from huf.ai.core.errors import UsageError
from huf.ai.core.types import AgentRequest, RunStatus
from huf.ai.runs.queue import work_on
from huf.ai.runs.start import start_run
from huf.ai.storage import leases
from huf.ai.tools.registry import tool
from huf.tests.base import SiteTestCase, WorkerEnds, enter
from huf.tests.factories import make_agent, make_model, make_tool, unique
from huf.tests.model_server import ModelServer, text, tool_call

FAULTS: list[str] = []
"""What happens during the next call: another worker takes the run over, or this one ends."""


@tool()
def write_called_note(title: str) -> str:
	"""Writes a note."""
	fault = FAULTS.pop() if FAULTS else ""
	if fault == "taken over":
		leases.acquire_lease(frappe.flags.huf_run, now_datetime() + timedelta(hours=1))
		frappe.db.commit()
	frappe.get_doc({"doctype": "Note", "title": title}).insert()
	if fault == "ends":
		raise WorkerEnds
	return "written"


class TestLostCalledRuns(SiteTestCase):
	def setUp(self):
		super().setUp()
		FAULTS.clear()
		self.server = enter(self, ModelServer(strict=False))
		path = f"{__name__}.write_called_note"
		self.write = make_tool("Custom Function", function_path=path, effect="write")
		called = make_agent(make_model(self.server), (self.write,))
		self.call = make_tool("Run Agent", agent=called)
		self.agent = make_agent(make_model(self.server), (self.call,))
		self.title = unique("Called")

	def start(self) -> str:
		self.server.script(
			tool_call(self.call, {"prompt": "Write it"}), tool_call(self.write, {"title": self.title})
		)
		request = AgentRequest(self.agent, "Have it written", "Administrator", channel=unique("x"))
		return start_run(request, RunStatus.QUEUED).name

	def called(self, run: str):
		frappe.db.rollback()
		return frappe.db.get_value("Agent Run", {"parent_run": run}, ["name", "status"], as_dict=True)

	def count_notes(self) -> int:
		frappe.db.rollback()
		return frappe.db.count("Note", {"title": self.title})

	def test_write_of_a_called_run_that_another_worker_has_is_rolled_back(self):
		FAULTS.append("taken over")
		run = self.start()
		self.assertEqual(work_on(run).status, RunStatus.WAITING)
		self.assertEqual(self.count_notes(), 0)

	def test_caller_whose_worker_was_lost_waits_for_the_run_that_it_has_called(self):
		FAULTS.append("ends")
		run = self.start()
		self.assertRaises(WorkerEnds, work_on, run)
		frappe.db.rollback()
		frappe.set_user("Administrator")
		frappe.flags.huf_run = frappe.flags.huf_lease = None
		later = now_datetime() + timedelta(hours=1)
		self.assertEqual(work_on(run, later).status, RunStatus.WAITING)
		self.server.script(text("Written."), text("It is written."))
		called = self.called(run)
		self.assertEqual(work_on(called.name, later).status, RunStatus.SUCCESS)
		work_on(run, later)
		self.assertEqual((self.called(run).name, self.count_notes()), (called.name, 1))
		self.assertEqual(frappe.db.get_value("Agent Run", run, "response"), "It is written.")

	def test_open_run_that_another_run_waits_for_cannot_be_deleted(self):
		FAULTS.append("taken over")
		run = self.start()
		work_on(run)
		with self.assertRaisesRegex(UsageError, "Cancel that run first"):
			frappe.delete_doc("Agent Run", self.called(run).name)
