"""Records named in the tool calls of a run are found, to be linked on pages."""

import frappe

from huf.ai.chat.messages import send_agent_chat_message
from huf.ai.core.session import acting_as
from huf.ai.queries.named_records import find_named_rows, list_named_records
from huf.tests.base import SiteTestCase, enter
from huf.tests.factories import make, make_agent, make_model, make_tool, make_user, unique
from huf.tests.model_server import ModelServer, text, tool_call


class TestNamedRecords(SiteTestCase):
	def run_with(self, tool: str, arguments: dict, user: str) -> str:
		with ModelServer() as server:
			server.script(tool_call(tool, arguments), text("Done."))
			agent = make_agent(make_model(server), (tool,))
			frappe.db.commit()
			with acting_as(user):
				return send_agent_chat_message(agent, "Go")["run"]

	def test_listed_records_are_returned_with_titles_only_to_readers_of_the_run(self):
		user, other = make_user("Huf User", "System Manager"), make_user("Huf User")
		note = make("Note", title=unique("Plan"), public=1)
		tool = make_tool("Get List", reference_doctype="Note")
		run = self.run_with(tool, {"filters": {"name": note.name}, "fields": ["name", "title"]}, user)
		enter(self, acting_as(user))
		records = list_named_records(run)
		self.assertIn({"doctype": "Note", "name": note.name, "title": note.title}, records)
		with acting_as(other):
			self.assertRaises(frappe.PermissionError, list_named_records, run)

	def test_created_records_are_returned(self):
		user = make_user("Huf User", "System Manager")
		tool = make_tool("Create Document", reference_doctype="ToDo")
		run = self.run_with(tool, {"description": "Call Anna"}, user)
		todo = frappe.get_all("Agent Change", {"run": run}, pluck="reference_name", order_by="creation asc")[
			0
		]
		with acting_as(user):
			self.assertIn(
				("ToDo", todo), [(each["doctype"], each["name"]) for each in list_named_records(run)]
			)

	def test_rows_are_found_in_every_form_of_tool_result(self):
		for value, names in (
			({"name": "A", "x": 1}, ["A"]),
			([{"name": "A"}, {"name": "B"}], ["A", "B"]),
			({"count": 2, "rows": [{"name": "A"}]}, ["A"]),
			({"names": ["A", "B", 3]}, ["A", "B"]),
			({"name": 7, "rows": "A"}, []),
			("A", []),
		):
			self.assertEqual([name for _, name, _ in find_named_rows(value, "ToDo")], names, value)
		self.assertEqual(list(find_named_rows({"name": "A"}, None)), [])
