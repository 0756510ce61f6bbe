"""Runs that make given tool calls, for tests of undo."""

import frappe

from huf.ai.runs.entry import run_agent_sync
from huf.ai.undo.scope import UndoSelection
from huf.ai.undo.undo import apply_undo, preview_undo
from huf.tests.base import SiteTestCase, enter
from huf.tests.doctypes import CASE, CUSTOMER, ORDER, make_doctypes
from huf.tests.factories import make_agent, make_model, make_tool
from huf.tests.model_server import ModelServer, text, tool_call

CREATE, UPDATE, DELETE = "Create Document", "Update Document", "Delete Document"
SUBMIT, CANCEL, ATTACH = "Submit Document", "Cancel Document", "Attach File to Document"


class Worker:
	"""An agent that makes the calls that it is given."""

	def __init__(self, server: ModelServer, doctypes: tuple[str, ...], *more_tools: str):
		self.server = server
		self.tools = {
			(types, doctype): make_tool(types, reference_doctype=doctype)
			for doctype in doctypes
			for types in (
				"Create Document",
				"Update Document",
				"Delete Document",
				"Submit Document",
				"Cancel Document",
				"Attach File to Document",
			)
			if frappe.get_meta(doctype).is_submittable or not types.startswith(("Submit", "Cancel"))
		}
		self.agent = make_agent(
			make_model(server),
			(*self.tools.values(), *more_tools),
			max_iterations=40,
			persist_conversation=0,
		)

	def run(self, *calls: tuple) -> str:
		"""Makes (tool type, DocType, arguments) calls in one run; returns the run's name."""
		named = [(self.tools.get(call[:2], call[0]), call[2]) for call in calls]

		def answer(request):
			done = sum(message["role"] == "tool" for message in request["messages"])
			return tool_call(*named[done]) if done < len(named) else text("All done.")

		self.server.forever(answer)
		result = run_agent_sync(self.agent, "Go", external_id=frappe.generate_hash(length=8))
		assert result["status"] == "Success", result
		return result["run"]


def undo(*runs: str, **decisions: str) -> dict:
	"""Previews and applies an undo; returns {run, restored, preview}."""
	scope = UndoSelection(runs)
	chosen = {key: value for key, value in decisions.items()}
	preview = preview_undo(scope, chosen)
	return {**apply_undo(scope, preview["digest"], chosen), "preview": preview}


class UndoTestCase(SiteTestCase):
	@classmethod
	def setUpClass(cls):
		super().setUpClass()
		make_doctypes()
		cls.server = enter(cls, ModelServer(strict=False))
		cls.worker = Worker(cls.server, (CASE, CUSTOMER, ORDER, "ToDo"))

	def run_calls(self, *calls):
		return self.worker.run(*calls)


def edit(doctype: str, name: str, **values) -> None:
	"""Changes a document as a person would, and commits."""
	doc = frappe.get_doc(doctype, name)
	doc.update(values)
	doc.save()
	frappe.db.commit()


def changed_names(run: str) -> list[str]:
	return frappe.get_all("Agent Change", {"run": run}, pluck="reference_name", order_by="creation asc")
