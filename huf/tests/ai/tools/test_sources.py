"""Every result says where it came from: documents, lists, pages, and what a tool itself names."""

import json

import frappe

from huf.ai.queries.runs import read_timeline
from huf.ai.runs.entry import run_agent_sync
from huf.ai.tools import document_tools
from huf.ai.tools.sources import read_sources
from huf.tests.base import SiteTestCase
from huf.tests.factories import make, make_agent, make_model, make_tool, unique
from huf.tests.model_server import ModelServer, text, tool_call

PAGE = {"url": "https://example.com/a", "title": "A"}


class TestSources(SiteTestCase):
	def test_a_document_a_list_and_a_value_name_their_documents(self):
		note = make("Note", title=unique("Roof"), content="x")
		source = {"doctype": "Note", "name": note.name, "title": note.title}
		for result in (
			document_tools.get_document("Note", note.name),
			document_tools.get_list("Note", {"name": note.name}, ["title"]),
			document_tools.get_value("Note", "title", note.name),
			[document_tools.get_document("Note", note.name)] * 2,
		):
			self.assertEqual(read_sources(frappe.as_json(result)), [source])

	def test_pages_and_results_of_a_search_name_their_addresses(self):
		for result in ({**PAGE, "body": "x"}, {"results": [PAGE], "untrusted": True}):
			self.assertEqual(read_sources(json.dumps(result)), [PAGE])

	def test_a_tool_can_name_its_own(self):
		self.assertEqual(read_sources(json.dumps({"fee": 12, "sources": [PAGE]})), [PAGE])

	def test_a_document_of_a_doctype_that_is_gone_still_counts(self):
		gone = {"doctype": "No Such DocType", "name": "x"}
		self.assertEqual(read_sources(json.dumps(gone)), [{**gone, "title": None}])

	def test_what_names_no_source_has_none(self):
		for result in (
			"plain words",
			"12",
			'{"error": "x"}',
			'{"url": 5}',
			'{"doctype": "x", "rows": [1]}',
			None,
		):
			self.assertEqual(read_sources(result), [], result)

	def test_a_run_s_timeline_shows_the_sources_of_each_call(self):
		note = make("Note", title=unique("Roof"), content="x")
		tool = make_tool("Get Document", reference_doctype="Note")
		with ModelServer() as server:
			agent = make_agent(make_model(server), (tool,))
			server.script(tool_call(tool, {"name": note.name}), text("It leaks."))
			run = run_agent_sync(agent, "The roof?")["run"]
		call = read_timeline(run)["steps"][0]["tool_calls"][0]
		self.assertEqual(call["sources"], [{"doctype": "Note", "name": note.name, "title": note.title}])
