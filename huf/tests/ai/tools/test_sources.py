"""Tool results cite where they come from: documents, lists, pages, and sources that a tool names."""

import json
from unittest.mock import patch

import frappe

from huf.ai.queries.runs import read_timeline
from huf.ai.runs.entry import run_agent_sync
from huf.ai.tools import document_tools
from huf.ai.tools.sources import MAX_SOURCES, read_sources
from huf.tests.base import SiteTestCase
from huf.tests.factories import make, make_agent, make_model, make_tool, unique
from huf.tests.model_server import ModelServer, text, tool_call

PAGE = {"url": "https://example.com/a", "title": "A"}


class TestSources(SiteTestCase):
	def test_document_list_and_value_results_cite_their_documents(self):
		note = make("Note", title=unique("Roof"), content="x")
		source = {"doctype": "Note", "name": note.name, "title": note.title}
		for result in (
			document_tools.get_document("Note", note.name),
			document_tools.get_list("Note", {"name": note.name}, ["title"]),
			document_tools.get_value("Note", "title", note.name),
			[document_tools.get_document("Note", note.name)] * 2,
		):
			self.assertEqual(read_sources(frappe.as_json(result)), [source])

	def test_page_and_search_results_cite_their_urls(self):
		for result in ({**PAGE, "body": "x"}, {"results": [PAGE], "untrusted": True}):
			self.assertEqual(read_sources(json.dumps(result)), [PAGE])

	def test_sources_key_of_a_result_is_cited(self):
		self.assertEqual(read_sources(json.dumps({"fee": 12, "sources": [PAGE]})), [PAGE])

	def test_document_of_a_missing_doctype_is_cited_without_a_title(self):
		gone = {"doctype": "No Such DocType", "name": "x"}
		self.assertEqual(read_sources(json.dumps(gone)), [{**gone, "title": None}])

	def test_results_without_a_source_cite_nothing(self):
		for result in (
			"plain words",
			"12",
			'{"error": "x"}',
			'{"url": 5}',
			'{"doctype": "x", "rows": [1]}',
			'{"number": [1], "position": 1}',
			None,
		):
			self.assertEqual(read_sources(result), [], result)

	def test_names_of_a_result_may_be_any_json(self):
		rows = [{"name": ["a"]}, {"name": {"b": 1}}, {"name": ["a"]}]
		found = read_sources(json.dumps({"doctype": "No Such DocType", "rows": rows}))
		self.assertEqual([each["name"] for each in found], [["a"], {"b": 1}])

	def test_only_the_documents_that_are_cited_are_looked_up(self):
		result = json.dumps([{"doctype": f"No Such DocType {number}", "name": "x"} for number in range(200)])
		with patch.object(frappe.db, "get_value", return_value=None) as look_up:
			self.assertEqual(len(read_sources(result)), MAX_SOURCES)
		self.assertEqual(look_up.call_count, MAX_SOURCES)

	def test_run_timeline_shows_the_sources_of_each_call(self):
		note = make("Note", title=unique("Roof"), content="x")
		tool = make_tool("Get Document", reference_doctype="Note")
		with ModelServer() as server:
			agent = make_agent(make_model(server), (tool,))
			server.script(tool_call(tool, {"name": note.name}), text("It leaks."))
			run = run_agent_sync(agent, "The roof?")["run"]
		call = read_timeline(run)["steps"][0]["tool_calls"][0]
		self.assertEqual(call["sources"], [{"doctype": "Note", "name": note.name, "title": note.title}])
