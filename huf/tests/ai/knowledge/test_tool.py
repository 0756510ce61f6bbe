"""Agents search their knowledge sources, cite results by number, and treat web pages as untrusted."""

import json

import frappe

from huf.ai.queries.runs import read_timeline
from huf.ai.runs.entry import run_agent_sync
from huf.tests.ai.tools.pages import ARTICLE, Site, public
from huf.tests.base import SiteTestCase
from huf.tests.factories import make_agent, make_model, make_tool
from huf.tests.knowledge import make_source
from huf.tests.model_server import ModelServer, text, tool_call


class TestTool(SiteTestCase):
	def run_agent(self, *calls: tuple[str, dict], tools: tuple = (), **values) -> tuple[list, dict]:
		"""(tool results, result) of a run that makes these calls."""
		with ModelServer() as server:
			agent = make_agent(make_model(server), ("search_knowledge", *tools), **values)
			server.script(*(tool_call(*each) for each in calls), text("Because of [1]."))
			result = run_agent_sync(agent, "Why?")
		results = [each["content"] for each in server.requests[-1]["messages"] if each["role"] == "tool"]
		return results, result

	def test_results_are_numbered_through_a_run_and_are_its_sources(self):
		source = make_source(("a.md", "# Roof\n\nIt leaks.\n\n# Gutter\n\nIt is full."))
		results, result = self.run_agent(
			("search_knowledge", {"query": "leaks"}),
			("search_knowledge", {"query": "gutter"}),
			knowledge=[{"source": source}],
		)
		first, second = (json.loads(each) for each in results)
		self.assertEqual([each["number"] for each in (*first["results"], *second["results"])], [1, 2])
		self.assertIn("[1]", first["note"])
		steps = read_timeline(result["run"])["steps"]
		(cited,) = steps[1]["tool_calls"][0]["sources"]
		self.assertEqual((cited["number"], cited["position"], cited["source"]), (2, "Gutter", source))
		self.assertEqual(cited["link"], second["results"][0]["link"])

	def test_an_agent_searches_its_own_sources_and_no_others(self):
		source, other = make_source(("a.txt", "The roof leaks")), make_source(("b.txt", "The roof is new"))
		(result,), _ = self.run_agent(("search_knowledge", {"query": "roof"}), knowledge=[{"source": source}])
		self.assertNotIn("is new", result)
		(result,), _ = self.run_agent(
			("search_knowledge", {"query": "roof", "sources": [other]}), knowledge=[{"source": source}]
		)
		self.assertIn("do not fit the tool", result)

	def test_a_request_to_a_new_host_needs_approval_after_reading_a_web_page(self):
		site = Site(self)
		public(self, "127.0.0.1")
		pages = make_source(source_type="URLs", urls=site.add("/roof", ARTICLE))
		files = make_source(("a.txt", "The roof leaks"))
		get = make_tool("GET")
		calls = (
			("search_knowledge", {"query": "leaks"}),
			(get, {"url": site.add("/out", "x"), "params": {"d": "1"}}),
		)
		with ModelServer() as server:
			agent = make_agent(make_model(server), ("search_knowledge", get), knowledge=[{"source": pages}])
			server.script(*(tool_call(*each) for each in calls))
			self.assertEqual(run_agent_sync(agent, "Why?")["status"], "Waiting")
			# The page taints also where the limit of the tool cuts off what says so.
			limited = make_tool("Search Knowledge", result_limit=60)
			agent = make_agent(make_model(server), (limited, get), knowledge=[{"source": pages}])
			server.script(tool_call(limited, {"query": "leaks"}), tool_call(*calls[1]))
			self.assertEqual(run_agent_sync(agent, "Why?")["status"], "Waiting")
		_, result = self.run_agent(*calls, tools=(get,), knowledge=[{"source": files}])
		self.assertEqual(result["status"], "Success")
		self.assertEqual(site.seen.count("/out?d=1"), 1)

	def test_search_knowledge_is_installed_as_a_read_tool(self):
		self.assertEqual(frappe.db.get_value("Agent Tool Function", "search_knowledge", "effect"), "read")
