"""A server at a private address is a local model: its window is read, and its agents ask before writes."""

import json
import threading
import time
import unittest
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socketserver import BaseRequestHandler, TCPServer

import frappe

from huf.ai.providers import local_servers
from huf.ai.setup.models import connect_model
from huf.tests.base import SiteTestCase, enter, keep_default_model
from huf.tests.factories import unique
from huf.tests.model_server import ModelServer, tool_call

LLAMA_CPP = {"data": [{"id": "small", "owned_by": "llamacpp", "meta": {"n_ctx_train": 8192}}]}

OLLAMA = {"/api/tags": {"models": []}}


class JsonServer:
	"""A server that answers these paths with JSON after a pause of `pause_s` seconds."""

	def __init__(self, test: unittest.TestCase, pages: dict[str, dict], pause_s: float = 0):
		class Handler(BaseHTTPRequestHandler):
			def do_GET(self):
				time.sleep(pause_s)
				body = json.dumps(pages.get(self.path, {})).encode()
				self.send_response(200 if self.path in pages else 404)
				self.send_header("Content-Length", str(len(body)))
				self.end_headers()
				self.wfile.write(body)

			do_POST = do_GET

			def log_message(self, *args):
				pass

		server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
		threading.Thread(target=server.serve_forever, daemon=True).start()
		test.addCleanup(server.server_close)
		test.addCleanup(server.shutdown)
		self.base = f"http://127.0.0.1:{server.server_address[1]}/v1"


class TestWindow(unittest.TestCase):
	def test_context_window_is_read_from_each_kind_of_server(self):
		for pages, window in (
			({"/v1/models": LLAMA_CPP}, 8192),
			({"/v1/models": LLAMA_CPP, "/props": {"default_generation_settings": {"n_ctx": 2048}}}, 2048),
			({"/v1/models": {"data": [{"id": "small", "max_model_len": 16384}]}}, 16384),
			({"/api/v0/models": {"data": [{"id": "small", "loaded_context_length": 4000}]}}, 4000),
			({**OLLAMA, "/api/show": {"model_info": {"llama.context_length": 131072}}}, 4096),
			(
				{
					**OLLAMA,
					"/api/show": {
						"model_info": {"llama.context_length": 131072},
						"parameters": "num_ctx 9000",
					},
				},
				9000,
			),
			({"/v1/models": {"data": [{"id": "small"}]}}, 0),
			({}, 0),
		):
			with self.subTest(pages):
				self.assertEqual(local_servers.read_window(JsonServer(self, pages).base, "small"), window)

	def test_slow_response_of_a_local_server_is_awaited(self):
		base = JsonServer(self, {"/v1/models": LLAMA_CPP}, local_servers.TIMEOUT_S + 0.2).base
		self.assertEqual(local_servers.read_window(base, "small"), 8192)

	def test_answers_and_addresses_that_make_no_sense_are_no_server(self):
		names = JsonServer(self, {"/v1/models": {"data": [{"id": None}]}}).base
		window = JsonServer(self, {"/props": {"default_generation_settings": {"n_ctx": float("inf")}}}).base
		self.assertEqual(local_servers.read_window(window, "small"), 0)
		read = partial(local_servers.read_column, "data", "id")
		server = local_servers.LocalServer("LM Studio", names, "/models", read)
		self.assertIsNone(local_servers.fetch_models(server))
		self.assertEqual(local_servers.fetch_server_models("http://[x"), [])
		self.assertFalse(local_servers.is_local_address("http://[x"))

	def test_private_addresses_are_local_and_public_ones_are_not(self):
		for url in (
			"http://127.0.0.1:8080/v1",
			"http://localhost:1",
			"http://192.168.1.5/v1",
			"http://[::1]:1",
		):
			self.assertTrue(local_servers.is_local_address(url), url)
		for url in ("https://api.openai.com/v1", "http://8.8.8.8/v1", "", None):
			self.assertFalse(local_servers.is_local_address(url), url)


class TestDiscovery(unittest.TestCase):
	def test_llama_cpp_is_found_and_another_server_on_its_port_is_not(self):
		for owner, names in (("llamacpp", ["small"]), ("other", None)):
			body = {"data": [{"id": "small", "owned_by": owner}]}
			json_server = JsonServer(self, {"/v1/models": body})
			read = local_servers.known_servers()[2].read
			server = local_servers.LocalServer("llama.cpp", json_server.base, "/models", read)
			self.assertEqual(local_servers.fetch_models(server), names)

	def test_a_server_that_does_not_speak_http_has_no_models_and_no_window(self):
		class Greeting(BaseRequestHandler):
			def handle(self):
				self.request.recv(1000)
				self.request.sendall(b"SSH-2.0-OpenSSH_9.2\r\n")

		server = enter(self, TCPServer(("127.0.0.1", 0), Greeting))
		threading.Thread(target=server.serve_forever, daemon=True).start()
		self.addCleanup(server.shutdown)
		base = f"http://127.0.0.1:{server.server_address[1]}"
		known = local_servers.LocalServer("Ollama", base, "/models", lambda body: [])
		self.assertIsNone(local_servers.fetch_models(known))
		self.assertEqual(local_servers.fetch_server_models(base), [])
		self.assertEqual(local_servers.read_window(base, "small"), 0)


class TestConnect(SiteTestCase):
	def setUp(self):
		super().setUp()
		keep_default_model(self)

	def connect(self, **values) -> str:
		server, name = enter(self, ModelServer()), unique("small")
		server.models, server.model_facts = [name], {"meta": {"n_ctx": 8192}}
		server.script(tool_call("take_note", {"text": "OK"}))
		result = connect_model(unique("Server"), name, None, server.base_url, False, **values)
		self.assertTrue(result["ok"], result)
		return result["model"]

	def test_a_loopback_server_is_local_with_its_window_and_asks_before_writes(self):
		model = frappe.get_doc("AI Model", self.connect())
		provider = frappe.get_doc("AI Provider", model.provider)
		self.assertEqual((provider.is_local, model.context_window), (1, 8192))
		self.assertEqual((model.tool_calls, model.ask_before_writes), ("Native", 1))
