"""The MCP SDK's client over HTTP, at each supported protocol revision."""

import asyncio
import subprocess
import sys
import time
import unittest

import frappe
import requests
from mcp.types import ElicitResult, TextContent

from huf.tests.api.test_mcp_oauth import OLDER_REVISIONS, REVISION, OAuthTestCase
from huf.tests.factories import make_agent, make_model, make_tool, unique
from huf.tests.mcp_fixture.server import make_fixture_server
from huf.tests.model_server import text, tool_call

LOAD = """
import sys
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from threading import Barrier
import huf.embedded; huf.embedded.install()
from huf.ai.core import sealed_tokens
sealed_tokens.get_encryption_key = lambda: "k" * 43 + "="
start = Barrier(4)
def load(name):
	start.wait()
	import_module(name) if name else sealed_tokens.unseal("approval", "?")
with ThreadPoolExecutor(4) as pool:
	list(pool.map(load, sys.argv[1:]))
"""


class TestLoading(unittest.TestCase):
	def test_concurrent_first_imports_of_the_sdk_succeed(self):
		modules = ("huf.ai.mcp.server.oauth", "huf.ai.mcp.server.http", "huf.ai.mcp.client.oauth", "")
		loaded = subprocess.run([sys.executable, "-c", LOAD, *modules], capture_output=True, text=True)
		self.assertEqual(loaded.returncode, 0, loaded.stderr)


class TestClients(OAuthTestCase):
	def setUp(self):
		super().setUp()
		frappe.db.set_value("Agent", self.todo_agent, "starters", "What is due?")
		frappe.clear_document_cache("Agent", self.todo_agent)
		frappe.db.commit()

	def test_every_revision_lists_tools_calls_tools_and_gets_prompts(self):
		for revision in (*OLDER_REVISIONS, REVISION):
			with self.subTest(revision):
				self.server.script(tool_call(self.read, {"limit": 1}), text("Nothing is due."))
				description, progress = unique("Call"), []

				async def on_progress(done, total, message, progress=progress):
					progress.append(message)

				async def work(client, description=description, on_progress=on_progress):
					tools = {tool.name: tool for tool in (await client.list_tools()).tools}
					ask = next(name for name in tools if name.startswith("ask_"))
					self.assertTrue(tools[self.read].annotations.read_only_hint)
					values = {"description": description, "allocated_to": self.user}
					made = await client.call_tool(self.create, values)
					answer = await client.call_tool(ask, {"message": "Due?"}, progress_callback=on_progress)
					prompts = (await client.list_prompts()).prompts
					prompt = await client.get_prompt(prompts[0].name)
					return made, answer, prompt

				made, answer, prompt = self.use(work, revision)
				self.assertFalse(made.is_error, made)
				self.assertTrue(exists("ToDo", description=description))
				self.assertEqual(answer.structured_content["answer"], "Nothing is due.")
				self.assertEqual(answer.content[0], TextContent(text="Nothing is due."))
				self.assertIn(answer.structured_content["conversation"], answer.content[1].text)
				self.assertTrue([each for each in progress if "Step 1" in each], progress)
				self.assertIn("What is due?", prompt.messages[0].content.text)

	def test_progress_that_a_tool_reports_is_shown_in_the_client(self):
		path = "huf.tests.ai.runs.test_timeouts.work_through"
		slow = make_tool("Custom Function", function_path=path, effect="read")
		slug = self.make_server(make_agent(make_model(self.server), (slow,)), (slow,))
		self.url = self.url.replace(self.slug, slug)
		messages = []

		async def work(client):
			async def on_progress(done, total, message):
				messages.append(message)

			arguments = {"rows": 2, "pause": 0}
			return await client.call_tool(slow, arguments, progress_callback=on_progress)

		self.assertFalse(self.use(work, REVISION).is_error)
		self.assertEqual(messages[-2:], ["Row 0 of 2", "Row 1 of 2"])

	def test_a_change_is_approved_in_a_client_of_the_newest_revision(self):
		slug = self.make_server(self.agent, (self.update,))
		self.url = self.url.replace(self.slug, slug)
		questions = []

		async def on_question(context, params):
			questions.append(params.message)
			return ElicitResult(action="accept")

		async def work(client):
			return await client.call_tool(self.update, {"name": self.order.name, "values": {"note": "new"}})

		result = self.use(work, REVISION, elicitation_callback=on_question)
		self.assertFalse(result.is_error, result)
		self.assertEqual((len(questions), self.note()), (1, "new"))

	def test_concurrent_calls_of_one_client_all_return(self):
		slug = make_fixture_server()
		self.url = self.url.replace(self.slug, slug)

		async def work(client):
			calls = [client.call_tool("slow_compute", {"seconds": 1, "label": each}) for each in "abc"]
			return await asyncio.gather(*calls)

		results = self.use(work, "2025-11-25")
		self.assertEqual(
			[each.content[0].text for each in results], [f"Computed {each} for 1 s" for each in "abc"]
		)

	def test_a_run_is_cancelled_while_a_synchronous_tool_runs(self):
		slug = make_fixture_server()
		self.url = self.url.replace(self.slug, slug)

		async def work(client):
			call = asyncio.ensure_future(client.call_tool("slow_compute", {"seconds": 60}))
			run = await asyncio.to_thread(self.find_started_run)
			began = time.monotonic()
			cancel = f"{self.base}/api/method/huf.api.run.cancel"
			headers = {"Authorization": self.headers["Authorization"].replace("Bearer", "token")}
			requests.post(cancel, json={"run": run}, headers=headers).raise_for_status()
			return await call, time.monotonic() - began

		result, seconds = self.use(work, "2025-11-25")
		self.assertLess(seconds, 15)
		self.assertTrue(result.is_error)

	def find_started_run(self) -> str:
		for _ in range(600):
			frappe.db.rollback()
			if run := frappe.db.get_value(
				"Agent Tool Call", {"tool": "slow_compute", "status": "Started"}, "run"
			):
				return run
			if run := frappe.db.get_value("Agent Run", {"status": "Started", "owner": self.user}):
				return run
			time.sleep(0.1)
		raise AssertionError("no run has started")

	def test_older_client_receives_the_run_url_instead_of_an_elicitation(self):
		slug = self.make_server(self.agent, (self.update,))
		self.url = self.url.replace(self.slug, slug)

		async def work(client):
			return await client.call_tool(self.update, {"name": self.order.name, "values": {"note": "new"}})

		result = self.use(work, "2025-11-25")
		self.assertIn("/huf/runs/", result.content[0].text)
		self.assertEqual(self.note(), "old")


def exists(doctype: str, **values) -> bool:
	frappe.db.rollback()
	return bool(frappe.db.exists(doctype, values))
