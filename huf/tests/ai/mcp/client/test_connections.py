"""Runs call tools of real MCP servers, which are processes on loopback."""

import json
import sys
import time
from unittest.mock import patch

import frappe

from huf.ai.agents.tool_factory import create_tool
from huf.ai.core import progress
from huf.ai.core.errors import ToolError
from huf.ai.core.event_loops import run_coroutine
from huf.ai.core.events import EventKind
from huf.ai.core.session import acting_as
from huf.ai.core.types import AgentRequest
from huf.ai.mcp.client import connections, store
from huf.ai.mcp.client.connections import COMMANDS_KEY
from huf.ai.mcp.client.session import Offer
from huf.ai.runs.entry import run_agent_sync, stream_agent
from huf.api import mcp_connection
from huf.install import refresh_definitions
from huf.tests.base import SiteTestCase, enter
from huf.tests.factories import make, make_agent, make_model, make_user, unique
from huf.tests.mcp_servers import INJECTION, SECRET, McpServer
from huf.tests.model_server import ModelServer, text, tool_call

CONNECTION, FUNCTION = "MCP Server Connection", "Agent Tool Function"


class ConnectionTestCase(SiteTestCase):
	def connect(self, server: McpServer, choose=(), **values) -> str:
		"""Make a connection, refresh it and choose these tools; returns its name."""
		values = {"allow_private_hosts": 1, "timeout": 20, **values}
		self.prefix = f"n{frappe.generate_hash(length=6)}_"
		doc = make(
			CONNECTION, connection_name=unique("Notes"), url=server.url, name_prefix=self.prefix, **values
		)
		frappe.db.commit()
		self.refreshed = mcp_connection.refresh(doc.name)
		if choose:
			self.choose(doc.name, **dict.fromkeys(choose, 1))
		return doc.name

	def choose(self, connection: str, **choices: int) -> None:
		doc = frappe.get_doc(CONNECTION, connection)
		for row in doc.tools:
			row.chosen = choices.get(row.tool_name.replace(".", "_"), choices.get(row.tool_name, row.chosen))
		doc.save()
		frappe.db.commit()

	def row(self, connection: str, tool: str):
		frappe.db.rollback()
		return next(row for row in frappe.get_doc(CONNECTION, connection).tools if row.tool_name == tool)

	def name_of(self, tool: str) -> str:
		return f"{self.prefix}{tool.replace('.', '_')}"

	def call(self, tool: str, **arguments) -> str:
		function = create_tool(frappe.get_doc(FUNCTION, self.name_of(tool)))
		return run_coroutine(function.on_invoke_tool(None, json.dumps(arguments)))


class TestRefresh(ConnectionTestCase):
	@classmethod
	def setUpClass(cls):
		super().setUpClass()
		cls.server = enter(cls, McpServer())

	def setUp(self):
		super().setUp()
		self.server.set()

	def test_a_refresh_lists_tools_and_proposes_their_effects(self):
		connection = self.connect(self.server)
		self.assertTrue(self.refreshed["ok"], self.refreshed)
		self.assertEqual(self.refreshed["server"], "notes 1.0, MCP 2026-07-28")
		rows = frappe.get_doc(CONNECTION, connection).tools
		proposals = {row.tool_name: (row.effect, row.requires_approval) for row in rows}
		reads = dict.fromkeys(("search.notes", "structured"), ("read", 0))
		self.assertEqual(proposals, {**reads, **dict.fromkeys(("send_note", "fail"), ("external", 1))})
		self.assertFalse(frappe.db.exists(FUNCTION, {"mcp_connection": connection}))

	def test_a_chosen_mcp_tool_is_created_and_is_deleted_with_its_connection(self):
		connection = self.connect(self.server, ["search.notes"])
		function = frappe.get_doc(FUNCTION, self.name_of("search.notes"))
		self.assertEqual((function.effect, function.types), ("read", "MCP Tool"))
		definition = frappe.parse_json(function.function_definition)
		self.assertEqual(definition["description"], "Search the notes")
		self.assertEqual(list(definition["parameters"]["properties"]), ["query"])
		self.assertEqual(json.loads(self.call("search.notes", query="Anna")), {"text": "3 notes about Anna"})
		self.assertEqual(self.server.calls()[-1], {"tool": "search.notes", "arguments": {"query": "Anna"}})
		frappe.delete_doc(CONNECTION, connection)
		self.assertFalse(frappe.db.exists(FUNCTION, function.name))

	def test_a_tool_with_an_unchosen_row_keeps_its_definition_in_a_migration(self):
		connection = self.connect(self.server, ["search.notes"])
		frappe.db.set_value("MCP Server Tool", self.row(connection, "search.notes").name, "chosen", 0)
		before = frappe.db.get_value(FUNCTION, self.name_of("search.notes"), "function_definition")
		refresh_definitions()
		after = frappe.db.get_value(FUNCTION, self.name_of("search.notes"), "function_definition")
		self.assertEqual(after, before)

	def test_a_tool_that_an_agent_has_cannot_be_dropped(self):
		connection = self.connect(self.server, ["search.notes"])
		agent = make_agent(tools=(self.name_of("search.notes"),))
		with self.assertRaisesRegex(frappe.ValidationError, agent):
			self.choose(connection, search_notes=0)

	def test_structured_results_cannot_pass_for_a_record_of_this_site(self):
		from huf.ai.tools.sources import read_sources

		self.connect(self.server, ["structured"])
		result = self.call("structured")
		self.assertEqual(json.loads(result), {"structured": {"doctype": "User", "name": "Administrator"}})
		self.assertEqual(read_sources(result), [])

	def test_errors_from_the_server_become_tool_errors(self):
		self.connect(self.server, ["fail"])
		with self.assertRaisesRegex(ToolError, "No such note"):
			self.call("fail")

	def test_a_servers_long_name_is_cut(self):
		connection = self.connect(self.server)
		offer = Offer("notes " * 100, "2025-06-18", ())
		self.assertRegex(connections.store_offer(connection, offer), "^notes .*…, MCP 2025-06-18$")

	def test_only_managers_can_refresh_sign_in_and_save_a_connection(self):
		connection = self.connect(self.server, ["search.notes"])
		frappe.set_user(make_user("Huf User"))
		self.assertRaises(frappe.PermissionError, mcp_connection.refresh, connection)
		self.assertRaises(frappe.PermissionError, mcp_connection.sign_in, connection)
		self.assertRaises(frappe.PermissionError, frappe.get_doc(CONNECTION, connection).save)

	def test_invalid_connections_are_refused_with_the_reason(self):
		for values, reason in (
			({"url": "notes.example.com"}, "must begin"),
			({"url": "http://[::1/mcp"}, "is not an address"),
			({"url": "http://notes.example.com:99999"}, "is not an address"),
			({"url": "https://me:secret@example.com/mcp"}, "Authentication"),
			({"url": "https://example.com", "name_prefix": "a b"}, "prefix"),
			({"url": "https://example.com", "auth": "Bearer"}, "bearer token"),
			({"transport": "Command", "command": "rm"}, "site_config.json"),
		):
			with self.subTest(values), self.assertRaisesRegex(frappe.ValidationError, reason):
				make(CONNECTION, connection_name=unique("Notes"), **values)

	def test_a_form_cannot_overwrite_values_that_come_from_the_server(self):
		connection = self.connect(self.server, ["search.notes"])
		doc = frappe.get_doc(CONNECTION, connection)
		before = [row.definition for row in doc.tools]
		for row in doc.tools:
			row.definition, row.status, row.description, row.change = "{}", "Accepted", "Mine", ""
		doc.offered, doc.state = "[]", "New"
		doc.append("tools", {"tool_name": "invented", "chosen": 1})
		doc.save()
		doc.reload()
		self.assertEqual([row.definition for row in doc.tools], before)
		self.assertEqual(doc.state, "Connected")
		self.assertNotIn("invented", [row.tool_name for row in doc.tools])


class TestAuthentication(ConnectionTestCase):
	def test_a_bearer_token_is_sent_but_not_readable_in_any_record(self):
		server = enter(self, McpServer(token=SECRET))
		connection = self.connect(server)
		self.assertFalse(self.refreshed["ok"])
		doc = frappe.get_doc(CONNECTION, connection)
		doc.update({"auth": "Bearer", "bearer_token": SECRET})
		doc.save()
		frappe.db.commit()
		self.assertTrue(mcp_connection.refresh(connection)["ok"])
		self.choose(connection, search_notes=1)
		self.assertIn("3 notes", self.call("search.notes", query="x"))
		for doctype in (CONNECTION, FUNCTION, "Version", "Error Log"):
			rows = frappe.get_all(doctype, fields=["*"], order_by="creation desc", limit_page_length=50)
			self.assertNotIn(SECRET, repr(rows))
		self.assertNotIn(SECRET, repr(frappe.get_doc(CONNECTION, connection).as_dict()))

	def test_a_stored_secret_is_not_sent_to_a_changed_address(self):
		secret_server, other_server = enter(self, McpServer(token=SECRET)), enter(self, McpServer())
		connection = self.connect(secret_server, auth="Bearer", bearer_token=SECRET)
		self.assertTrue(self.refreshed["ok"])
		doc = frappe.get_doc(CONNECTION, connection)
		doc.url = other_server.url
		with self.assertRaisesRegex(frappe.ValidationError, "Enter Bearer Token again"):
			doc.save()
		headers = [{"header": "X-Key", "value": SECRET}]
		connection = self.connect(secret_server, auth="Headers", headers=headers)
		doc = frappe.get_doc(CONNECTION, connection)
		doc.url = other_server.url
		with self.assertRaisesRegex(frappe.ValidationError, "Enter X-Key again"):
			doc.save()


class TestCommand(ConnectionTestCase):
	def test_a_command_from_site_config_is_started_as_a_server(self):
		server = McpServer()
		command = {"command": sys.executable, "args": ["-m", "huf.tests.mcp_servers"]}
		command["args"].append(server.folder.name)
		frappe.local.conf[COMMANDS_KEY] = {"notes": {**command, "env": {"PYTHONPATH": ":".join(sys.path)}}}
		self.addCleanup(frappe.local.conf.pop, COMMANDS_KEY)
		self.connect(server, ["search.notes"], transport="Command", command="notes", timeout=60)
		self.assertTrue(self.refreshed["ok"], self.refreshed)
		self.assertIn("3 notes", self.call("search.notes", query="x"))


class TestChangedTools(ConnectionTestCase):
	def setUp(self):
		super().setUp()
		self.server = enter(self, McpServer())
		self.connection = self.connect(self.server, ["search.notes"])

	def test_a_tool_whose_description_changed_is_not_called(self):
		self.server.set(description=INJECTION)
		with self.assertRaisesRegex(ToolError, "accept the change"):
			self.call("search.notes", query="x")
		self.assertEqual(self.server.calls(), [])
		self.assertEqual(self.row(self.connection, "search.notes").status, "Changed")
		with self.assertRaisesRegex(ToolError, "held back"):
			self.call("search.notes", query="x")
		definition = frappe.db.get_value(FUNCTION, self.name_of("search.notes"), "function_definition")
		self.assertNotIn("Ignore all", str(definition))

	def test_a_changed_schema_is_shown_as_a_diff_and_only_that_diff_is_accepted(self):
		self.server.set(
			schema={"type": "object", "properties": {"query": {}, "password": {"type": "string"}}}
		)
		mcp_connection.refresh(self.connection)
		row = self.row(self.connection, "search.notes")
		self.assertEqual(row.status, "Changed")
		self.assertIn('+   "password": {', row.change)
		self.server.set(description=INJECTION)
		mcp_connection.refresh(self.connection)
		with self.assertRaisesRegex(frappe.ValidationError, "review the change again"):
			self.accept(row.schema_hash)
		self.accept(self.row(self.connection, "search.notes").schema_hash)
		self.assertEqual(self.row(self.connection, "search.notes").status, "Accepted")
		definition = frappe.db.get_value(FUNCTION, self.name_of("search.notes"), "function_definition")
		self.assertIn("Ignore all", str(definition))
		self.assertIn("3 notes", self.call("search.notes", query="x"))

	def test_a_tool_that_is_gone_is_not_called_and_may_come_back(self):
		self.server.set(gone=["search.notes"])
		with self.assertRaisesRegex(ToolError, "no longer offers"):
			self.call("search.notes", query="x")
		mcp_connection.refresh(self.connection)
		self.assertEqual(self.row(self.connection, "search.notes").status, "Gone")
		with self.assertRaisesRegex(ToolError, "no longer offers"):
			self.call("search.notes", query="x")
		self.server.set()
		with patch.object(store, "write_offered", side_effect=frappe.QueryTimeoutError):
			self.assertIn("3 notes", self.call("search.notes", query="x"))
		self.assertIn("3 notes", self.call("search.notes", query="x"))
		self.assertEqual(self.row(self.connection, "search.notes").status, "Accepted")
		self.choose(self.connection)
		self.assertEqual(self.row(self.connection, "search.notes").status, "Accepted")

	def test_a_tool_stored_with_characters_that_are_removed_now_stays_accepted(self):
		doc = frappe.get_doc(CONNECTION, self.connection)
		row = next(row for row in doc.tools if row.tool_name == "search.notes")
		for doctype, name, field in (
			(CONNECTION, doc.name, "offered"),
			(row.doctype, row.name, "definition"),
		):
			stored = frappe.db.get_value(doctype, name, field).replace(
				"Search the notes", "Search the notes\ufe01"
			)
			frappe.db.set_value(doctype, name, field, stored)
		frappe.db.commit()
		self.choose(self.connection)
		self.assertEqual(self.row(self.connection, "search.notes").status, "Accepted")
		self.assertIn("3 notes", self.call("search.notes", query="x"))

	def test_saving_the_form_does_not_accept_a_change(self):
		self.server.set(description=INJECTION)
		mcp_connection.refresh(self.connection)
		self.choose(self.connection, search_notes=1)
		self.assertEqual(self.row(self.connection, "search.notes").status, "Changed")

	def accept(self, schema_hash: str) -> None:
		"""Save the form of a user who reviewed the definition with this hash."""
		doc = frappe.get_doc(CONNECTION, self.connection)
		row = next(row for row in doc.tools if row.tool_name == "search.notes")
		row.accept_change, row.schema_hash = 1, schema_hash
		doc.save()
		frappe.db.commit()


class TestRuns(ConnectionTestCase):
	def setUp(self):
		super().setUp()
		self.server = enter(self, McpServer())
		self.connection = self.connect(self.server, ["search.notes", "send_note", "structured"])
		self.model = enter(self, ModelServer())
		self.user = make_user("Huf User")

	def run_agent(self, *turns, **values) -> dict:
		tools = tuple(map(self.name_of, ("search.notes", "send_note", "structured")))
		agent = make_agent(make_model(self.model), tools, **values)
		self.model.script(*turns)
		with acting_as(self.user):
			return run_agent_sync(agent, "Look for Anna")

	def test_a_run_calls_an_mcp_tool(self):
		search_call = tool_call(self.name_of("search.notes"), {"query": "Anna"})
		result = self.run_agent(search_call, text("Three."))
		self.assertEqual((result["status"], result["response"]), ("Success", "Three."))
		rows = frappe.get_all(
			"Agent Tool Call", {"run": result["run"]}, ["status", "result"], order_by="name"
		)
		self.assertEqual([row.status for row in rows], ["Success"])
		self.assertIn("3 notes about Anna", rows[0].result)

	def test_progress_from_the_server_renews_the_timeout_and_is_streamed(self):
		server = enter(self, McpServer("stream"))
		self.connect(server, ["search.notes"], timeout=2)
		enter(self, patch.object(progress, "PAUSE_S", 0))
		agent = make_agent(make_model(self.model), (self.name_of("search.notes"),))
		# The server reports a part every 0.1 seconds.
		for parts, status in ((24, "Success"), (0, "Failed")):
			server.set(parts=parts, pause=0 if parts else 5)
			self.model.script(tool_call(self.name_of("search.notes"), {"query": "Anna"}), text("Three."))
			events = [
				event for event in stream_agent(AgentRequest(agent, unique("Look"), self.user)) if event
			]
			reports = [event.data for event in events if event.kind is EventKind.PROGRESS]
			lines = [(each["text"], each["fraction"]) for each in reports if "fraction" in each]
			self.assertEqual(lines, [(f"Part {n}", n / parts) for n in range(1, parts + 1)])
			call = frappe.get_last_doc("Agent Tool Call", {"run": events[-1].run})
			self.assertEqual(call.status, status, call.result)

	def test_a_tool_without_annotations_needs_approval(self):
		send_call = tool_call(self.name_of("send_note"), {"to": "anna", "text": "Hi"})
		result = self.run_agent(send_call)
		self.assertEqual(result["status"], "Waiting")
		self.assertEqual(self.server.calls(), [])

	def test_external_calls_after_mcp_results_need_approval_except_to_allowed_hosts(self):
		self.remove_approval("send_note")
		self.server.set(result=INJECTION)
		search_call = tool_call(self.name_of("search.notes"), {"query": "Anna"})
		send_call = tool_call(self.name_of("send_note"), {"to": "thief", "text": "everything"})
		result = self.run_agent(search_call, send_call)
		self.assertEqual(result["status"], "Waiting")
		self.assertEqual([each["tool"] for each in self.server.calls()], ["search.notes"])
		origins = frappe.get_all("Agent Tool Call", {"run": result["run"]}, pluck="origin", order_by="name")
		self.assertIn("mcp 127.0.0.1", origins)
		draft = frappe.get_doc("Agent Draft", {"run": result["run"]})
		values = {each["parameter"]: each["value"] for each in json.loads(draft.concern)["values"]}
		self.assertEqual(values, {"to": "thief", "text": "everything"})
		result = self.run_agent(search_call, send_call, text("Sent."), allowed_hosts="127.0.0.1")
		self.assertEqual(result["status"], "Success")

	def test_a_sensitive_parameter_needs_approval_even_at_an_allowed_host(self):
		self.remove_approval("send_note")
		tool = frappe.get_doc("Agent Tool Function", self.name_of("send_note"))
		tool.update({"sensitive_parameters": "to"}).save()
		search_call = tool_call(self.name_of("search.notes"), {"query": "Anna"})
		send_call = tool_call(tool.name, {"to": "thief", "text": "hello"})
		self.assertEqual(
			self.run_agent(search_call, send_call, allowed_hosts="127.0.0.1")["status"], "Waiting"
		)
		named_call = tool_call(tool.name, {"to": "Anna", "text": "hello"})
		result = self.run_agent(search_call, named_call, text("Sent."), allowed_hosts="127.0.0.1")
		self.assertEqual(result["status"], "Success")

	def test_a_server_that_is_down_is_a_tool_error(self):
		self.server.process.kill()
		self.server.process.join()
		search_call = tool_call(self.name_of("search.notes"), {"query": "Anna"})
		result = self.run_agent(search_call, text("I could not look."))
		self.assertEqual(result["status"], "Success", result)
		self.assertIn("could not be reached", self.model.requests[-1]["messages"][-1]["content"])

	def test_a_disabled_connection_is_not_called(self):
		frappe.get_doc(CONNECTION, self.connection).update({"disabled": 1}).save()
		frappe.db.commit()
		search_call = tool_call(self.name_of("search.notes"), {"query": "Anna"})
		self.run_agent(search_call, text("No."))
		self.assertEqual(self.server.calls(), [])

	def test_an_output_schema_cannot_block_the_run(self):
		self.server.set(
			output_schema={
				"type": "object",
				"properties": {"a": {"type": "string", "pattern": "^(x+x+)+y$"}},
			},
			structured={"a": "x" * 60},
		)
		started = time.monotonic()
		result = self.run_agent(tool_call(self.name_of("structured"), {}), text("Done."))
		self.assertEqual(result["status"], "Success")
		self.assertLess(time.monotonic() - started, 15)

	def remove_approval(self, tool: str) -> None:
		doc = frappe.get_doc(CONNECTION, self.connection)
		next(row for row in doc.tools if row.tool_name == tool).requires_approval = 0
		doc.save()
		frappe.db.commit()
