"""A user connects an MCP client as the page instructs, and the page shows which steps work."""

import asyncio
import queue
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

import httpx2
import requests
from mcp import Client
from mcp.client.auth import AuthorizationCodeResult, OAuthClientProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import OAuthClientMetadata

from huf.embedded.tests.browser import needs_browser
from huf.embedded.tests.pages import PageTestCase
from huf.tests.api.test_mcp_oauth import Storage

CLERK = "clerk@example.com"


class ReturnHandler(BaseHTTPRequestHandler):
	"""The redirect target after signing in."""

	def do_GET(self):
		self.server.answers.put(self.path)
		self.send_response(200)
		self.end_headers()
		self.wfile.write(b"You may close this window.")

	def log_message(self, *args):
		pass


class Program(threading.Thread):
	"""A client of the MCP SDK; `addresses` receives the sign-in URL."""

	def __init__(self, url: str):
		super().__init__(daemon=True)
		self.url = url
		self.addresses: queue.Queue[str] = queue.Queue()
		self.tools: list[str] = []
		self.start()

	def run(self) -> None:
		with ThreadingHTTPServer(("127.0.0.1", 0), ReturnHandler) as self.server:
			self.server.answers = queue.Queue()
			threading.Thread(target=self.server.serve_forever, daemon=True).start()
			asyncio.run(self.list_tools())
			self.server.shutdown()

	async def list_tools(self) -> None:
		async def open_browser(address: str) -> None:
			self.addresses.put(address)

		async def wait_for_redirect() -> AuthorizationCodeResult:
			address = await asyncio.to_thread(self.server.answers.get, timeout=30)
			found = {key: values[0] for key, values in parse_qs(urlsplit(address).query).items()}
			return AuthorizationCodeResult(code=found["code"], state=found["state"], iss=found["iss"])

		redirect_uri = f"http://127.0.0.1:{self.server.server_port}/callback"
		metadata = OAuthClientMetadata(client_name="Desk helper", redirect_uris=[redirect_uri])
		auth = OAuthClientProvider(self.url, metadata, Storage(), open_browser, wait_for_redirect)
		async with httpx2.AsyncClient(auth=auth, timeout=30) as http:
			async with Client(streamable_http_client(self.url, http_client=http)) as client:
				self.tools = [tool.name for tool in (await client.list_tools()).tools]


@needs_browser
class TestProgramsPage(PageTestCase):
	@classmethod
	def setUpClass(cls):
		super().setUpClass()
		cls.add_user(CLERK, "Huf User")

	def assert_steps(self, page, **states: str) -> None:
		for name, state in states.items():
			page.locator(f"[data-testid=mcp-step][data-step={name}][data-state={state}]").wait_for()

	def test_mcp_client_connects_by_oauth_and_the_page_shows_each_step(self):
		with self.open_page("/huf/profile", user=CLERK) as page:
			page.get_by_test_id("programs-link").click()
			address = page.get_by_test_id("address").inner_text()
			self.assertEqual(address, f"{self.server.url}/mcp")
			self.assert_steps(page, connect="unknown", list="ok", call="unknown")
			page.get_by_text("No request has arrived in the last day.").wait_for()
			requests.post(address, json={"jsonrpc": "2.0", "id": 1, "method": "tools/list"})
			page.get_by_test_id("check-again").click()
			self.assert_steps(page, connect="ok", authorize="failed")
			page.get_by_text("A program came without signing in.").wait_for()
			program = Program(address)
			page.goto(program.addresses.get(timeout=30))
			page.get_by_role("heading", name="Allow Desk helper to connect?").wait_for()
			page.get_by_role("button", name="Allow").click()
			page.get_by_text("You may close this window.").wait_for()
			program.join(30)
			self.assertIn("ask_office_assistant", program.tools)
			page.goto("/huf/programs")
			self.assert_steps(page, connect="ok", authorize="ok", list="ok", call="unknown")
			page.get_by_test_id("request").get_by_text("tools/list").first.wait_for()
			page.get_by_test_id("grants").click()
			page.get_by_text("Desk helper").wait_for()

	def test_a_button_that_was_disabled_while_it_worked_keeps_the_focus(self):
		with self.open_page("/huf/programs", user=CLERK) as page:
			page.get_by_test_id("check-again").wait_for()
			held: list = []
			page.route("**/huf.api.mcp_diagnosis.diagnose*", lambda route: held.append(route))
			page.get_by_test_id("check-again").focus()
			page.keyboard.press("Enter")
			page.locator("[data-testid=check-again]:disabled").wait_for()
			page.wait_for_function("document.activeElement === document.body")
			held[0].continue_()
			page.locator("[data-testid=check-again]:focus").wait_for()

	def test_server_without_tools_explains_its_failed_step(self):
		self.make("MCP Server", server_name="Empty", slug="empty", enabled=1)
		with self.open_page("/huf/programs", user=CLERK, width=390, height=844) as page:
			page.get_by_test_id("server").select_option("empty")
			page.get_by_text("offers no agent and no tool").wait_for()
			self.assert_steps(page, list="failed")
			self.assertEqual(page.get_by_test_id("address").inner_text(), f"{self.server.url}/mcp/empty")
