"""OpenAPI documents become tools that call a real HTTP server, in real runs."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from unittest.mock import patch

import frappe

from huf.ai.agents.tool_factory import create_tool
from huf.ai.core.errors import ToolError, UsageError
from huf.ai.core.event_loops import run_coroutine
from huf.ai.runs.entry import run_agent_sync
from huf.ai.setup import openapi_operations
from huf.ai.setup.openapi_document import parse_document
from huf.ai.setup.openapi_operations import plan_tools
from huf.api import openapi
from huf.tests.base import SiteTestCase, enter
from huf.tests.factories import SECRET, make_agent, make_model, make_tool, make_user
from huf.tests.model_server import ModelServer, text, tool_call

TOOL = "Agent Tool Function"
ORDER = {
	"type": "object",
	"required": ["id", "item"],
	"properties": {
		"id": {"type": "integer", "readOnly": True},
		"item": {"type": "string", "example": "pallet"},
		"count": {"type": "integer", "nullable": True, "minimum": 0, "exclusiveMinimum": True},
		"part_of": {"$ref": "#/components/schemas/Order"},
	},
}
ID = {"name": "orderId", "in": "path", "required": True, "schema": {"type": "string"}}
KEY = {"type": "apiKey", "in": "header", "name": "X-Key"}


def make_document() -> dict:
	"""An OpenAPI 3.0 document with operations that can and cannot become tools."""
	body = {
		"required": True,
		"content": {"application/json": {"schema": {"$ref": "#/components/schemas/Order"}}},
	}
	upload = {"required": True, "content": {"multipart/form-data": {"schema": {"type": "object"}}}}
	tags = {"name": "tag", "in": "query", "schema": {"type": "array", "items": {"type": "string"}}}
	cookie = {"name": "trace", "in": "cookie", "schema": {"type": "string"}}
	reason = {"name": "X-Reason", "in": "header", "schema": {"type": "string"}}
	return {
		"openapi": "3.0.3",
		"info": {"title": "Orders", "version": "1"},
		"servers": [{"url": "/{version}", "variables": {"version": {"default": "v1"}}}],
		"security": [{"key": []}],
		"components": {
			"schemas": {"Order": ORDER},
			"parameters": {"Id": ID},
			"securitySchemes": {"key": KEY, "query": {**KEY, "in": "query"}},
		},
		"paths": {
			"/orders": {
				"get": {"operationId": "listOrders", "summary": "Lists orders", "parameters": [tags, cookie]},
				"post": {"operationId": "createOrder", "requestBody": body},
				"head": {},
			},
			"/orders/{orderId}": {
				"parameters": [{"$ref": "#/components/parameters/Id"}],
				"get": {"operationId": "getOrder"},
				"put": {"operationId": "updateOrder", "parameters": [reason], "requestBody": body},
				"delete": {"operationId": "deleteOrder"},
			},
			"/files": {"post": {"operationId": "upload", "requestBody": upload}},
			"/lost/{id}": {"get": {}},
			"/elsewhere": {"post": {"requestBody": {"$ref": "https://evil.example/body.json"}}},
			"/secret": {"get": {"security": [{"query": []}]}},
		},
	}


class Service(BaseHTTPRequestHandler):
	"""Serves its document at /openapi.json and records all other requests."""

	def answer(self):
		length = int(self.headers.get("Content-Length") or 0)
		body = json.loads(self.rfile.read(length)) if length else None
		if self.path == "/openapi.json":
			return self.send(self.server.document)
		request = {"method": self.command, "path": self.path, "body": body, "headers": dict(self.headers)}
		self.server.requests.append(request)
		self.send({"order": "17", "state": "packed"})

	do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = answer

	def send(self, value):
		body = json.dumps(value).encode()
		self.send_response(200)
		self.send_header("Content-Type", "application/json")
		self.send_header("Content-Length", str(len(body)))
		self.end_headers()
		self.wfile.write(body)

	def log_message(self, *args):
		pass


class ImportTestCase(SiteTestCase):
	def setUp(self):
		super().setUp()
		self.service = ThreadingHTTPServer(("127.0.0.1", 0), Service)
		self.service.requests, self.service.document = [], make_document()
		threading.Thread(target=self.service.serve_forever, args=(0.02,), daemon=True).start()
		self.addCleanup(self.service.server_close)
		self.addCleanup(self.service.shutdown)
		self.host = f"http://127.0.0.1:{self.service.server_address[1]}"
		self.source = {"url": f"{self.host}/openapi.json", "allow_private": 1}
		self.source["prefix"] = self.prefix = f"p{frappe.generate_hash(length=6)}_"

	def create(self, *operations: str, **options) -> list[dict]:
		listed = openapi.preview(**self.source)
		made = openapi.create(list(operations), listed["digest"], **{**self.source, **options})
		frappe.db.commit()
		return made

	def call(self, tool: str, **arguments) -> str:
		function = create_tool(frappe.get_doc(TOOL, f"{self.prefix}{tool}"))
		return run_coroutine(function.on_invoke_tool(None, json.dumps(arguments)))


class TestPreview(ImportTestCase):
	def test_preview_lists_possible_tools_and_refusals_and_creates_nothing(self):
		before = frappe.db.count(TOOL)
		listed = openapi.preview(**self.source)
		tools = {each["operation"]: each for each in listed["tools"]}
		refused = {each["operation"]: each["reason"] for each in listed["refused"]}
		self.assertEqual(
			{key: (each["effect"], each["requires_approval"]) for key, each in tools.items()},
			{
				"GET /orders": ("read", False),
				"POST /orders": ("external", True),
				"GET /orders/{orderId}": ("read", False),
				"PUT /orders/{orderId}": ("external", True),
				"DELETE /orders/{orderId}": ("external", True),
			},
		)
		first = tools["GET /orders"]
		self.assertEqual((first["description"], first["base_url"]), ("Lists orders", f"{self.host}/v1"))
		self.assertEqual((first["headers"], first["exists"]), (["X-Key"], False))
		self.assertEqual(first["left_out"], ["parameter trace (cookie), which is not sent"])
		for key, reason in (
			("HEAD /orders", "do not send HEAD"),
			("POST /files", "multipart/form-data"),
			("GET /lost/{id}", "does not describe"),
			("POST /elsewhere", "another document"),
			("GET /secret", "in the query"),
		):
			self.assertIn(reason, refused.pop(key))
		self.assertEqual((refused, frappe.db.count(TOOL), self.service.requests), ({}, before, []))

	def test_preview_and_import_require_permission_to_create_tools(self):
		frappe.set_user(make_user("Huf User"))
		self.assertRaises(frappe.PermissionError, openapi.preview, **self.source)
		self.assertRaises(frappe.PermissionError, openapi.create, ["GET /orders"], "", **self.source)

	def test_private_urls_and_invalid_documents_are_refused(self):
		for values, reason in (
			({"url": self.source["url"]}, "private address"),
			({"url": "file:///etc/passwd"}, "not an http"),
			({"content": "- a list"}, "not an OpenAPI document"),
			({"content": "swagger: '2.0'\npaths: {}"}, "Swagger 2"),
			({"content": "openapi: 3.1.0"}, "paths"),
			({"content": "openapi: 3.1.0\npaths: {a: &a [1], b: [*a, *a]}"}, "aliases"),
			({"content": "x" * 2_000_001}, "more than 2,000,000"),
			({"content": "[" * 100_000}, "not an OpenAPI document|nested too deeply"),
			(
				{"content": '{"openapi": "3.0.0", "paths": ' + '{"a":' * 200 + "1" + "}" * 201},
				"nested too deeply",
			),
			# Nodes nested this deep would crash the process in PyYAML's C loader.
			({"content": "- " * 900_000}, "nested too deeply"),
			({"content": "a: " + "[" * 900_000}, "not an OpenAPI document|nested too deeply"),
			({}, "Enter the URL"),
		):
			with self.subTest(str(values)[:60]), self.assertRaisesRegex(UsageError, reason):
				openapi.preview(**values)

	def test_refusals_are_in_the_language_of_the_user(self):
		self.addCleanup(setattr, frappe.local, "lang", frappe.local.lang)
		reasons = {}
		for language in ("en", "de", "es", "cs"):
			frappe.local.lang = language
			reasons[language] = [each["reason"] for each in openapi.preview(**self.source)["refused"]]
		for translations in zip(*reasons.values(), strict=True):
			self.assertEqual(len(set(translations)), 4, translations)
		frappe.local.lang = "de"
		with self.assertRaisesRegex(UsageError, "private Adresse"):
			openapi.preview(url=self.source["url"])

	def test_yaml_documents_are_accepted(self):
		document_text = "openapi: 3.1.0\ninfo: {title: T}\nservers: [{url: 'https://a.example'}]\npaths: {/a: {get: {summary: A}}}"
		tools = openapi.preview(content=document_text)["tools"]
		self.assertEqual([(each["operation"], each["tool"]) for each in tools], [("GET /a", "get_a")])

	def test_exponentially_expanding_references_are_refused(self):
		document = make_document()
		schemas = document["components"]["schemas"]
		for number in range(20):
			pair = {"$ref": f"#/components/schemas/S{number + 1}"}
			schemas[f"S{number}"] = {"type": "object", "properties": {"a": pair, "b": pair}}
		schemas["S20"] = {"type": "string"}
		content = document["paths"]["/orders"]["post"]["requestBody"]["content"]
		content["application/json"]["schema"] = {"$ref": "#/components/schemas/S0"}
		refused = plan_tools(parse_document(json.dumps(document)), base_url="https://a.example")[1]
		reasons = {each["operation"]: each["reason"] for each in refused}
		self.assertRegex(reasons["POST /orders"], "more than 30,000 characters|nested more")

	def test_references_that_multiply_a_schema_leave_out_operations(self):
		wide = {"type": "object", "properties": {f"field_{n}": {"type": "string"} for n in range(30)}}
		body = {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/Wide"}}}}
		document = make_document()
		document["components"]["schemas"]["Wide"] = wide
		document["paths"] = {f"/{n}": {"post": {"requestBody": body}} for n in range(20)}
		with patch.object(openapi_operations, "MAX_SCHEMA_CHARS", 5_000):
			plans, refused = plan_tools(document, base_url="https://a.example")
		self.assertTrue(0 < len(plans) < 20)
		self.assertEqual(refused[0]["reason"], f"Operations after the first {len(plans)} are left out.")

	def test_invalid_server_urls_and_arguments_are_refused_with_a_reason(self):
		for server in ("http://[::1", "http://h.example:99999"):
			for more in ({"servers": [{"url": server}]}, {}):
				base_url = "" if more else server
				content = json.dumps({**make_document(), **more, "info": ["x"]})
				found = openapi.preview(content=content, base_url=base_url)
				self.assertEqual((found["title"], found["tools"]), ("", []))
				self.assertIn("is not an address", found["refused"][0]["reason"])
		nameless = make_document()
		nameless["components"]["securitySchemes"]["key"] = {**KEY, "name": 5}
		found = openapi.preview(content=json.dumps(nameless), base_url="https://a.example")
		self.assertIn("not described as OpenAPI requires", found["refused"][0]["reason"])
		values = {"operations": ["GET /orders"], "digest": "", "content": json.dumps(make_document())}
		for wrong in ({"operations": "5"}, {"operations": [["GET"]]}, {"replace": "5"}, {"headers": '["x"]'}):
			with self.subTest(str(wrong)), self.assertRaisesRegex(UsageError, "must be"):
				openapi.create(**{**values, **wrong})


class TestImport(ImportTestCase):
	def test_imported_tool_sends_its_key_and_no_record_or_prompt_contains_the_key(self):
		self.create("GET /orders/{orderId}", headers={"X-Key": SECRET})
		name = f"{self.prefix}getOrder"
		server = enter(self, ModelServer())
		server.script(tool_call(name, {"orderId": "17/x"}), text("Order 17 is packed."))
		agent = make_agent(make_model(server), tools=(name,))
		result = run_agent_sync(agent, "Where is order 17?")
		self.assertEqual((result["status"], result["response"]), ("Success", "Order 17 is packed."))
		request = self.service.requests[0]
		self.assertEqual((request["method"], request["path"]), ("GET", "/v1/orders/17%2Fx"))
		self.assertEqual(request["headers"]["X-Key"], SECRET)
		stored = json.dumps(frappe.get_doc(TOOL, name).as_dict(), default=str)
		sent = json.dumps(server.requests)
		self.assertNotIn(SECRET, stored + sent)
		self.assertIn("packed", sent)

	def test_imported_schema_resolves_references_and_omits_read_only_fields(self):
		self.create("POST /orders")
		doc = frappe.get_doc(TOOL, f"{self.prefix}createOrder")
		self.assertEqual((doc.types, doc.effect, doc.requires_approval), ("POST", "external", 1))
		parameters = frappe.parse_json(doc.function_definition)["parameters"]
		body = parameters["properties"]["body"]
		self.assertEqual((parameters["required"], body["required"]), (["body"], ["item"]))
		self.assertEqual(list(body["properties"]), ["item", "count", "part_of"])
		self.assertEqual(body["properties"]["count"], {"type": ["integer", "null"], "exclusiveMinimum": 0})
		self.assertNotIn("$ref", str(doc.function_definition))

	def test_path_query_header_and_body_arguments_are_sent_in_their_places(self):
		self.create("PUT /orders/{orderId}", "GET /orders", "DELETE /orders/{orderId}")
		self.call("updateOrder", orderId="a b", **{"X-Reason": "late"}, body={"item": "pallet"})
		self.call("listOrders", tag=["new", "a&b"])
		self.call("deleteOrder", orderId="9")
		put, get, delete = self.service.requests
		self.assertEqual(
			(put["method"], put["path"], put["body"]), ("PUT", "/v1/orders/a%20b", {"item": "pallet"})
		)
		self.assertEqual(put["headers"]["X-Reason"], "late")
		self.assertEqual(get["path"], "/v1/orders?tag=new&tag=a%26b")
		self.assertEqual((delete["method"], delete["path"]), ("DELETE", "/v1/orders/9"))

	def test_an_argument_cannot_lead_to_another_path(self):
		self.create("GET /orders/{orderId}")
		for value in ("..", ".", ""):
			with self.subTest(value), self.assertRaisesRegex(ToolError, "cannot be part of the address"):
				self.call("getOrder", orderId=value)
		self.call("getOrder", orderId="../../admin?x=1#y")
		self.assertEqual(
			[each["path"] for each in self.service.requests], ["/v1/orders/..%2F..%2Fadmin%3Fx=1%23y"]
		)

	def test_a_draft_shows_the_request_with_its_method(self):
		self.create("PUT /orders/{orderId}", headers={"X-Key": SECRET})
		tool = create_tool(frappe.get_doc(TOOL, f"{self.prefix}updateOrder"))
		shown = tool.describe({"orderId": "9", "X-Reason": "late", "body": {"item": "x"}})
		self.assertEqual((shown["method"], shown["url"]), ("PUT", f"{self.host}/v1/orders/9"))
		self.assertEqual((shown["headers"]["X-Reason"], shown["body"]), ("late", {"item": "x"}))
		self.assertNotIn(SECRET, json.dumps(shown))

	def test_existing_tools_are_replaced_only_when_named_in_replace(self):
		self.create("GET /orders", headers={"X-Key": SECRET})
		name = f"{self.prefix}listOrders"
		frappe.db.set_value(TOOL, name, {"effect": "external", "requires_approval": 1})
		frappe.db.commit()
		self.service.document["paths"]["/orders"]["get"]["summary"] = "Lists all orders"
		with self.assertRaisesRegex(UsageError, "exists"):
			self.create("GET /orders", "POST /orders")
		self.assertFalse(frappe.db.exists(TOOL, f"{self.prefix}createOrder"))
		made = self.create("GET /orders", replace=[name])
		self.assertEqual((made[0]["replaced"], made[0]["missing_headers"]), (True, []))
		doc = frappe.get_doc(TOOL, name)
		self.assertEqual(
			(doc.description, doc.effect, doc.requires_approval), ("Lists all orders", "external", 1)
		)
		self.assertEqual(doc.headers[0].get_password("value"), SECRET)
		own = make_tool("GET", f"{self.prefix}createOrder", base_url="https://example.com")
		with self.assertRaisesRegex(UsageError, "not imported"):
			self.create("POST /orders", replace=[own])

	def test_replaced_tool_keeps_its_approval_only_for_the_same_operation(self):
		name, paths = f"{self.prefix}createOrder", self.service.document["paths"]
		self.create("POST /orders")
		for path, method, kept in (("/orders", "post", 0), ("/orders", "delete", 1), ("/refunds", "post", 1)):
			frappe.db.set_value(TOOL, name, {"effect": "write", "requires_approval": 0})
			frappe.db.commit()
			moved = {path: {method: paths["/orders"]["post"]}}
			with patch.dict(self.service.document, paths=moved):
				self.create(f"{method.upper()} {path}", replace=[name])
			doc = frappe.get_doc(TOOL, name)
			self.assertEqual((doc.requires_approval, doc.effect), (kept, "external" if kept else "write"))

	def test_document_changed_since_its_preview_is_refused(self):
		digest = openapi.preview(**self.source)["digest"]
		self.service.document["paths"]["/orders"]["get"]["summary"] = "Deletes everything"
		with self.assertRaisesRegex(UsageError, "has changed"):
			openapi.create(["GET /orders"], digest, **self.source)
		with self.assertRaisesRegex(UsageError, "cannot be imported: POST /files"):
			self.create("POST /files")

	def test_keys_are_refused_for_operations_on_several_servers(self):
		self.service.document["paths"]["/orders"]["post"]["servers"] = [{"url": "https://other.example"}]
		with self.assertRaisesRegex(UsageError, "several servers"):
			self.create("GET /orders", "POST /orders", headers={"X-Key": SECRET})
		self.assertEqual(self.create("GET /orders")[0]["missing_headers"], ["X-Key"])

	def test_saving_a_tool_with_an_invalid_operation_is_refused(self):
		self.create("GET /orders")
		doc = frappe.get_doc(TOOL, f"{self.prefix}listOrders")
		operation = json.loads(doc.operation)
		for values, reason in (
			({"operation": json.dumps({**operation, "method": "DELETE"})}, "needs the type POST"),
			({"operation": json.dumps({**operation, "path": "https://evil.example"})}, "begins with /"),
			({"operation": "{"}, "not valid"),
			({"base_url": ""}, "Base URL"),
			({"parameters": [{"fieldname": "a", "type": "string"}]}, "Remove the rows"),
		):
			with self.subTest(values), self.assertRaisesRegex(frappe.ValidationError, reason):
				changed = frappe.get_doc(TOOL, doc.name)
				changed.update(values)
				changed.save()
