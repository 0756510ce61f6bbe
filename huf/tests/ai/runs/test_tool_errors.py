"""Errors of a tool's code: the model reads a sentence, and developers find the traceback in the Error Log."""

from collections.abc import Callable

import frappe

from huf.ai.agents.function_tool import COMMITTED
from huf.ai.core.errors import ToolError
from huf.ai.runs.entry import run_agent_sync
from huf.ai.setup.tool_check import try_tool
from huf.ai.tools.registry import tool
from huf.tests.base import SiteTestCase, enter
from huf.tests.factories import make_agent, make_model, make_tool, unique
from huf.tests.model_server import ModelServer, text, tool_call

WRITTEN = "Written before the error"
SECRET = "sk-proj-1234567890abcdef"


def raise_bug() -> None:
	key = SECRET
	raise ValueError(f"no such key: {key}")


def refuse() -> None:
	raise ToolError("Ask for the name first.")


def throw() -> None:
	frappe.throw(["One", "Two"], as_list=True)


def commit_and_fail() -> None:
	frappe.db.commit()
	raise ValueError("No connection.")


KINDS: dict[str, Callable] = {
	"bug": raise_bug,
	"refuse": refuse,
	"throw": throw,
	"commit": commit_and_fail,
}


@tool(effect="write", documents_only=True)
def fail(kind: str) -> None:
	frappe.get_doc({"doctype": "ToDo", "description": WRITTEN}).insert()
	KINDS[kind]()


class TestToolErrors(SiteTestCase):
	def setUp(self):
		super().setUp()
		self.server = enter(self, ModelServer())
		self.tool = make_tool("Custom Function", function_path=f"{__name__}.fail", documents_only=1)
		self.agent = make_agent(make_model(self.server), (self.tool,))

	def run_tool(self, kind: str) -> tuple[str, dict]:
		self.server.script(tool_call(self.tool, {"kind": kind}), text("It failed."))
		result = run_agent_sync(self.agent, unique("Go"))
		self.assertEqual(result["status"], "Success", result)
		return result["run"], frappe.parse_json(self.server.requests[-1]["messages"][-1]["content"])

	def read_log(self, **filters) -> list[str]:
		filters = {"method": f"The tool {self.tool} failed", **filters}
		return frappe.get_all("Error Log", filters, pluck="error", order_by="creation asc")

	def test_traceback_of_an_unexpected_error_is_logged_without_secrets(self):
		before = frappe.db.count("ToDo", {"description": WRITTEN})
		run, read = self.run_tool("bug")
		self.assertEqual((read["type"], SECRET in read["error"]), ("ValueError", False))
		[logged] = self.read_log(reference_doctype="Agent Run", reference_name=run)
		self.assertIn("in raise_bug", logged)
		self.assertNotIn(SECRET, logged)
		self.assertEqual(frappe.db.count("ToDo", {"description": WRITTEN}), before)

	def test_errors_meant_for_the_model_are_not_logged(self):
		self.assertEqual(self.run_tool("refuse")[1]["error"], "Ask for the name first.")
		self.assertEqual(self.run_tool("throw")[1]["error"], "One\nTwo")
		self.assertEqual(self.read_log(), [])

	def test_model_reads_that_a_write_stays_which_the_tool_has_committed(self):
		before = frappe.db.count("ToDo", {"description": WRITTEN})
		read = self.run_tool("commit")[1]
		self.assertEqual(read["error"], f"No connection. {COMMITTED}")
		self.assertEqual(frappe.db.count("ToDo", {"description": WRITTEN}), before + 1)
		self.assertNotIn(COMMITTED, self.run_tool("bug")[1]["error"])

	def test_traceback_of_a_failed_preview_is_logged(self):
		frappe.db.set_value("Agent Tool Function", self.tool, "requires_approval", 1)
		frappe.clear_document_cache("Agent Tool Function", self.tool)
		frappe.db.commit()
		run, _read = self.run_tool("bug")
		[logged] = self.read_log(reference_name=run)
		self.assertIn("in raise_bug", logged)

	def test_traceback_of_a_tried_tool_is_logged(self):
		self.assertFalse(try_tool(self.tool, "Administrator", {"kind": "bug"})["ok"])
		self.assertIn("in raise_bug", self.read_log()[0])
