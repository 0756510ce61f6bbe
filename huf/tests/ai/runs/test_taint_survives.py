"""Untrusted content stays so in branches, and after an undo or a rename."""

import frappe

from huf.ai.runs.admission import acting_as
from huf.ai.runs.entry import run_agent_sync
from huf.ai.storage.untrusted_records import find_marked
from huf.ai.tools.taint import find_origins
from huf.ai.tools.untrusted import trust_record
from huf.api import conversation
from huf.tests.ai.runs.test_taint import STRANGER, TaintCase
from huf.tests.ai.undo.runs import undo
from huf.tests.factories import make, make_agent, make_tool, unique
from huf.tests.model_server import text, tool_call


class TestSurvives(TaintCase):
	def test_a_branch_of_a_tainted_conversation_is_tainted(self):
		agent = make_agent(self.model, (self.fetch, self.post))
		self.server.script(self.read_page(), text("Read."), self.drop())
		with acting_as(self.person):
			first = run_agent_sync(agent, f"Read {self.outside.url}/page", channel_id=unique("chat"))
			branch = conversation.branch(first["conversation"], first["run"])
			result = run_agent_sync(agent, "Do it", conversation_id=branch)
		self.assertNotEqual(result["conversation"], first["conversation"])
		self.assert_waits(result)

	def test_a_record_that_was_renamed_is_still_untrusted(self):
		note, name = self.write_note(), unique("Renamed")
		frappe.rename_doc("Note", note, name, force=True)
		self.assertTrue(find_marked("Note", [name]))
		self.assertFalse(find_marked("Note", [note]))
		self.assertTrue(trust_record("Note", name))
		self.assertFalse(find_marked("Note", [name]))

	def test_a_record_that_an_undo_brings_back_is_still_untrusted(self):
		note = self.write_note()
		delete = make_tool("Delete Document", reference_doctype="Note")
		deleted = self.run_agent(
			tool_call(delete, {"name": note}), text("Gone."), tools=(delete,), prompt="Delete it"
		)
		self.assertFalse(frappe.db.exists("Note", note))
		with acting_as(self.person):
			undo(deleted["run"])
		self.assertTrue(frappe.db.exists("Note", note))
		self.assertTrue(find_marked("Note", [note]))

	def test_what_a_tainted_run_has_changed_is_untrusted_after_its_undo_too(self):
		with acting_as(self.person):
			note = make("Note", title=unique("Note"), content="Ours").name
		frappe.db.commit()
		update = make_tool("Update Document", reference_doctype="Note")
		call = tool_call(update, {"name": note, "values": {"content": STRANGER}})
		result = self.run_agent(self.read_page(), call, text("Done."), tools=(self.fetch, update))
		self.assertEqual(result["status"], "Success", result)
		with acting_as(self.person):
			undo(result["run"])
		self.assertEqual(frappe.db.get_value("Note", note, "content"), "Ours")
		self.assertTrue(find_origins(result["run"]))
		self.assertTrue(find_marked("Note", [note]))
