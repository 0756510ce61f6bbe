"""HTTP tools call only permitted addresses, tested with real servers on loopback."""

import json
import threading
import unittest
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from huf.ai.agents.tool_factory import create_agent_tools
from huf.ai.core.errors import OutcomeUnknown, ToolError
from huf.ai.core.event_loops import run_coroutine
from huf.ai.core.types import CallRequest
from huf.ai.loop.tool_calls import perform, prepare_one
from huf.ai.providers.sdk_agent import to_loop_tool
from huf.ai.tools import http
from huf.tests.base import SiteTestCase
from huf.tests.factories import make_agent, make_tool


class Echo(BaseHTTPRequestHandler):
	def do_GET(self):
		self.server.seen.append((self.path, dict(self.headers)))
		if self.path.startswith("/to/"):
			self.send_response(302)
			target = self.path[4:]
			self.send_header("Location", target if "://" in target else f"/{target}")
			self.end_headers()
			return
		self.answer()

	def do_POST(self):
		body = self.rfile.read(int(self.headers["Content-Length"]))
		self.server.seen.append((self.path, body))
		if self.path == "/hang-up":
			self.close_connection = True
			return
		if self.path.startswith("/away"):
			self.send_response(303)
			self.send_header("Location", self.path.removeprefix("/away") or "http://elsewhere.example/")
			self.end_headers()
			return
		self.answer({"got": json.loads(body), "key": self.headers.get("X-Key")})

	def answer(self, value=None):
		body = b"x" * 3_000_000 if self.path == "/huge" else json.dumps(value or {"path": self.path}).encode()
		status = self.path.removeprefix("/status/")
		self.send_response(int(status) if status.isdigit() else 200)
		self.send_header("Content-Type", self.server.kind)
		self.send_header("Content-Length", str(len(body)))
		self.end_headers()
		self.wfile.write(body)

	def log_message(self, *args):
		pass


class TestHttpTools(SiteTestCase):
	def setUp(self):
		super().setUp()
		self.server, self.url = self.serve()
		self.other, self.other_url = self.serve()

	def serve(self):
		server = ThreadingHTTPServer(("127.0.0.1", 0), Echo)
		server.seen, server.kind = [], "application/json"
		threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
		self.addCleanup(server.server_close)
		self.addCleanup(server.shutdown)
		return server, f"http://127.0.0.1:{server.server_address[1]}"

	def request(self, method="GET", url="", **options):
		options.setdefault("allow_private", True)
		return run_coroutine(http.send_request(method, url or self.url, **options))

	def test_json_response_is_returned_parsed(self):
		answer = self.request(url="/a", base_url=self.url, params={"q": "x", "n": 2})
		self.assertEqual((answer["status"], answer["body"]), (200, {"path": "/a?q=x&n=2"}))

	def test_a_post_that_the_service_refuses_has_failed_and_one_on_which_it_fails_is_unknown(self):
		tool = make_tool("POST", base_url=self.url, allow_private_hosts=1)
		(post,) = create_agent_tools(make_agent(None, (tool,)))
		for status, expected in ((201, "Success"), (409, "Failed"), (500, "Unknown")):
			with self.subTest(status):
				arguments = {"url": f"/status/{status}", "body": {"a": 1, "password": "hunter2"}}
				call = prepare_one(
					CallRequest("c", tool, json.dumps(arguments)), 0, {tool: to_loop_tool(post)}
				)
				result = run_coroutine(perform(call))
				self.assertEqual(result.status.value, expected)
				self.assertIn(str(status), result.text)
				self.assertIn('"a', result.text.replace("\\", ""))
				self.assertNotIn("hunter2", result.text)

	def test_error_of_a_service_without_text_says_so(self):
		for body, said in (({"body": ""}, "400"), ({"body": None, "note": "Not text."}, "400: Not text.")):
			with self.assertRaises(ToolError) as caught:
				http.check_accepted({"status": 400, "url": self.url, **body})
			self.assertTrue(str(caught.exception).endswith(f"status {said}"))

	def test_a_post_that_leads_to_a_missing_page_is_unknown(self):
		self.assertEqual(self.request("POST", f"{self.url}/away/status/200", body={})["status"], 200)
		with self.assertRaisesRegex(OutcomeUnknown, "answered with status 404"):
			self.request("POST", f"{self.url}/away/status/404", body={})

	def test_a_post_sends_its_body_and_headers(self):
		answer = self.request("POST", "/in", base_url=self.url, headers={"X-Key": "k"}, body={"a": 1})
		self.assertEqual(answer["body"], {"got": {"a": 1}, "key": "k"})

	def test_outcome_of_a_post_that_was_sent_and_has_no_answer_is_unknown(self):
		tied = {"base_url": self.url, "headers": {"X-Key": "k"}, "body": {}}
		for path in ("/hang-up", "/away", "/huge"):
			with self.subTest(path), self.assertRaisesRegex(OutcomeUnknown, "is not known"):
				self.request("POST", path, **tied)
		self.assertEqual([path for path, _ in self.server.seen], ["/hang-up", "/away", "/huge"])
		for url in ("http://127.0.0.1:1/", "http://no-such-host.invalid/", "http://a..b/", "ftp://x"):
			with self.subTest(url), self.assertRaises(ToolError) as caught:
				self.request("POST", url, body={})
			self.assertNotIsInstance(caught.exception, OutcomeUnknown, "nothing was sent")

	def test_request_with_headers_cannot_reach_another_host(self):
		with self.assertRaisesRegex(ToolError, "may only call"):
			self.request(url=self.other_url, base_url=self.url, headers={"X-Key": "k"})
		with self.assertRaisesRegex(ToolError, "may only call"):
			self.request(url=f"/to/{self.other_url}/", base_url=self.url, headers={"X-Key": "k"})
		self.assertEqual(self.other.seen, [])

	def test_a_redirect_on_the_same_host_is_followed(self):
		answer = self.request(url="/to/there", base_url=self.url, headers={"X-Key": "k"})
		self.assertEqual(answer["body"], {"path": "/there"})

	def test_private_addresses_are_refused_in_every_notation(self):
		port = self.server.server_address[1]
		for host in (
			"127.0.0.1",
			"localhost",
			"2130706433",
			"0x7f000001",
			"127.1",
			"[::1]",
			"[::ffff:127.0.0.1]",
			"0.0.0.0",
		):
			with (
				self.subTest(host),
				self.assertRaisesRegex(ToolError, "private address|could not be reached|not an http"),
			):
				self.request(url=f"http://{host}:{port}/", allow_private=False)
		self.assertEqual(self.server.seen, [])

	def test_other_schemes_are_refused(self):
		for url in ("file:///etc/passwd", "ftp://example.com/x", "gopher://x", "no address"):
			with self.subTest(url), self.assertRaisesRegex(ToolError, "not an http"):
				self.request(url=url)

	def test_a_host_with_a_control_character_is_refused_before_it_is_looked_up(self):
		for host in ("127.0.0.1\0.allowed.example", "localhost\x7f"):
			with self.subTest(host), self.assertRaisesRegex(ToolError, "not an http"):
				self.request(url=f"http://{host}/")

	def test_relative_url_cannot_reach_another_host(self):
		host = self.other_url.removeprefix("http:")
		for path in (
			f"\t{host}/?d=secret",
			f" {host}/",
			f"\n{host}/",
			"\thttp:" + host.replace("//", "/\t/"),
		):
			with self.subTest(path), self.assertRaises(ToolError):
				self.request(url=path, base_url=self.url)
		with self.assertRaisesRegex(ToolError, "not an http"):
			self.request(url="http://[", base_url=self.url)
		self.assertEqual(self.other.seen, [])

	def test_call_with_a_base_url_cannot_choose_another_host(self):
		with self.assertRaisesRegex(ToolError, "takes only addresses of"):
			self.request(url=f"{self.other_url}/?d=secret", base_url=self.url)
		with self.assertRaisesRegex(ToolError, "takes only addresses of"):
			http.describe_request("GET", self.other_url, base_url=self.url)
		self.assertEqual(self.other.seen, [])
		self.assertEqual(self.request(url=f"{self.url}/a", base_url=self.url)["status"], 200)
		with self.assertRaisesRegex(ToolError, "of https://shop.example.$"):
			http.resolve_url("http://shop.example/a", "https://shop.example/api", tied=False)

	def test_path_with_an_address_in_its_query_is_below_the_base_url(self):
		answer = self.request(url="/a?next=https://elsewhere.example/", base_url=f"{self.url}/api")
		self.assertEqual(answer["body"], {"path": "/api/a?next=https://elsewhere.example/"})

	def test_unknown_charset_is_decoded_as_utf_8(self):
		self.server.kind = "text/plain; charset=no-such-charset"
		self.assertIn("path", self.request(url="/a", base_url=self.url)["body"])

	def test_response_above_the_size_limit_is_refused(self):
		with self.assertRaisesRegex(ToolError, "larger than"):
			self.request(url="/huge", base_url=self.url)

	def test_redirect_loop_is_stopped(self):
		with self.assertRaisesRegex(ToolError, "redirects"):
			self.request(url="/to/" * 9 + "/x", base_url=self.url)


class TestAddresses(unittest.TestCase):
	def test_only_globally_routable_addresses_are_public(self):
		for address in ("8.8.8.8", "2606:4700::1111", "64:ff9b::808:808"):
			self.assertTrue(http.is_public(address), address)
		for address in (
			"10.0.0.1",
			"169.254.169.254",
			"100.64.0.1",
			"::1",
			"fe80::1%eth0",
			"::ffff:10.0.0.1",
			"2002:7f00:1::",
			"224.0.0.1",
			"64:ff9b::7f00:1",
			"64:ff9b:1::808:808",
			"::7f00:1",
			"fec0::1",
			"fd00:ec2::254",
		):
			self.assertFalse(http.is_public(address), address)
