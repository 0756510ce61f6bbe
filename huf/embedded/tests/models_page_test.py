"""Models are detected, connected with a key, tested and made the default on the page."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from huf.embedded.tests.browser import needs_browser
from huf.embedded.tests.pages import PageTestCase
from huf.tests.model_server import ModelServer, error, tool_call

KEY = "sk-of-the-test-9876543210"


class Ollama(BaseHTTPRequestHandler):
	"""A stub of Ollama: its list of models, and one short answer."""

	TAGS = {"models": [{"name": "tiny:1b"}, {"name": "nomic-embed-text:latest"}]}
	MESSAGE = {"message": {"role": "assistant", "content": "OK"}, "done": True, "done_reason": "stop"}
	FIGURES = {
		"model": "tiny:1b",
		"created_at": "2025-03-01T10:00:00Z",
		"prompt_eval_count": 9,
		"eval_count": 1,
	}

	def do_GET(self):
		self.answer(self.TAGS if self.path == "/api/tags" else {})

	def do_POST(self):
		self.rfile.read(int(self.headers["Content-Length"]))
		self.answer({**self.MESSAGE, **self.FIGURES} if self.path == "/api/chat" else {})

	def answer(self, body: dict):
		content = json.dumps(body).encode()
		self.send_response(200)
		self.send_header("Content-Length", str(len(content)))
		self.end_headers()
		self.wfile.write(content)

	def log_message(self, *args):
		pass


CHOSEN = """name => document.querySelector("[data-testid=field-model]").value === name"""


@needs_browser
class TestModelsPage(PageTestCase):
	@classmethod
	def setUpClass(cls):
		cls.ollama = ThreadingHTTPServer(("127.0.0.1", 0), Ollama)
		threading.Thread(target=cls.ollama.serve_forever, daemon=True).start()
		cls.addClassCleanup(cls.ollama.server_close)
		cls.addClassCleanup(cls.ollama.shutdown)
		cls.environment = {"OLLAMA_HOST": f"127.0.0.1:{cls.ollama.server_address[1]}"}
		super().setUpClass()

	def test_provider_with_long_name_and_address_fits_on_a_phone(self):
		long = {"provide_name": "A provider whose name is long on a phone", "api_key": KEY}
		self.make("AI Provider", **long, api_base="https://models.example.com/with/a/long/path/v1")
		with self.open_page("/huf/models", width=390, locale="de-DE") as page:
			row = (
				page.get_by_test_id("provider-item").filter(has_text=long["provide_name"]).get_by_role("link")
			)
			row.wait_for()
			self.assertFalse(row.evaluate("(each) => each.scrollWidth > each.clientWidth"))

	def test_local_ollama_model_is_detected_connected_and_tested(self):
		with self.open_page("/huf/models") as page:
			page.get_by_test_id("provider-Ollama").get_by_text("detected").wait_for()
			self.assertEqual(page.get_by_test_id("field-model").input_value(), "tiny:1b")
			self.assertEqual(page.locator("#known-models option").count(), 1)
			page.get_by_test_id("connect").click()
			page.get_by_test_id("check-ok").wait_for()
			item = page.locator("[data-testid=model-item][data-name='tiny:1b']")
			self.assertIn("free", item.inner_text())
			self.assertIn("tool calls: none", item.get_by_test_id("abilities").inner_text())
			self.assertRegex(item.get_by_test_id("abilities").inner_text(), r"tokens/s · tested \d\d:\d\d")
			self.assertEqual(item.get_by_test_id("default").count(), 1)
		provider = self.call("/api/resource/AI%20Provider/Ollama")["data"]
		self.assertEqual(provider["is_local"], 1)

	def test_refused_api_key_is_explained_and_can_be_corrected(self):
		self.make(
			"AI Provider", provide_name="Zeta", api_key="sk-old-and-wrong", api_base="http://127.0.0.1:9/v1"
		)
		self.make("AI Model", model_name="zeta-0", provider="Zeta")
		with ModelServer() as server, self.open_page("/huf/models") as page:
			server.script(error(401, "Incorrect API key provided"), tool_call("take_note", {"text": "OK"}))
			page.get_by_test_id("add-model").click()
			page.get_by_test_id("provider-Other").click()
			page.get_by_test_id("connect").click()
			self.assertEqual(page.get_by_text("This field is required.").count(), 3)
			page.get_by_test_id("field-provider").fill("Zeta")
			page.get_by_test_id("field-api_base").fill(server.base_url)
			page.get_by_test_id("field-api_base").blur()
			# When the list arrives, the server's only model is selected, which would overwrite earlier input.
			page.wait_for_function(CHOSEN, arg="scripted")
			page.get_by_test_id("field-model").fill("zeta-1")
			page.get_by_test_id("connect").click()
			page.get_by_text("Enter API Key again").first.wait_for()
			page.get_by_test_id("field-api_key").fill("sk-wrong")
			page.get_by_test_id("connect").click()
			page.get_by_text("refused the API key").wait_for()
			self.assertNotIn("under Models", page.get_by_test_id("error").inner_text())
			page.get_by_test_id("field-api_key").fill(KEY)
			page.get_by_test_id("connect").click()
			page.get_by_test_id("check-ok").wait_for()
			self.assertEqual(server.headers[-1]["authorization"], f"Bearer {KEY}")
			self.assertNotIn(KEY, page.content())
			item = page.locator("[data-testid=model-item][data-name='zeta-1']")
			server.script(error(404, "no such model"))
			item.get_by_test_id("check-model").click()
			item.get_by_text("most end in /v1").wait_for()
			item.get_by_role("link", name="zeta-1").click()
			page.get_by_test_id("field-own_prices").check()
			page.get_by_test_id("field-input_price").fill("1.5")
			page.get_by_test_id("field-output_price").fill("2")
			page.get_by_test_id("save").click()
			page.get_by_test_id("saved").wait_for()
			page.get_by_test_id("up").click()
			item.get_by_text("$1.50 in, $2.00 out").wait_for()
