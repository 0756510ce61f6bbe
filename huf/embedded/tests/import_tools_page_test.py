"""Operations of an OpenAPI document, from a URL or a file, are chosen and imported with credentials."""

import json
import threading
from http.server import ThreadingHTTPServer

from huf.embedded.tests.browser import needs_browser
from huf.embedded.tests.pages import PageTestCase
from huf.tests.ai.setup.test_openapi_import import Service, make_document

CLERK = "clerk@example.com"
SECRET = "sk-typed-on-the-page"
TOOL = "/api/resource/Agent%20Tool%20Function"


@needs_browser
class TestImportToolsPage(PageTestCase):
	@classmethod
	def setUpClass(cls):
		super().setUpClass()
		cls.add_user(CLERK, "Huf User")

	def setUp(self):
		super().setUp()
		self.service = ThreadingHTTPServer(("127.0.0.1", 0), Service)
		self.service.requests, self.service.document = [], make_document()
		threading.Thread(target=self.service.serve_forever, args=(0.02,), daemon=True).start()
		self.addCleanup(self.service.server_close)
		self.addCleanup(self.service.shutdown)
		self.host = f"http://127.0.0.1:{self.service.server_address[1]}"

	def list_operations(self, page, prefix: str) -> None:
		page.get_by_test_id("openapi-url").fill(f"{self.host}/openapi.json")
		page.get_by_test_id("openapi-prefix").fill(prefix)
		page.get_by_test_id("openapi-list").click()

	def choose(self, page, operation: str) -> None:
		page.locator(f"[data-testid=operation][data-name='{operation}'] input").check()

	def test_chosen_operation_is_imported_with_its_secret_and_the_rest_reported(self):
		with self.open_page("/huf/tools") as page:
			page.get_by_test_id("import-tools").click()
			self.list_operations(page, "a_")
			page.get_by_text("is a private address").wait_for()
			page.get_by_test_id("openapi-private").check()
			page.get_by_test_id("openapi-list").click()
			delete = page.locator("[data-testid=operation][data-name='DELETE /orders/{orderId}']")
			delete.get_by_text("external", exact=True).wait_for()
			delete.get_by_text("asks first").wait_for()
			page.get_by_text("5 operations cannot become tools").click()
			page.locator("[data-name='GET /secret']").get_by_text("Tools send keys in headers").wait_for()
			self.choose(page, "GET /orders/{orderId}")
			page.get_by_test_id("header-X-Key").fill(SECRET)
			page.get_by_test_id("import").click()
			page.get_by_text("1 tool imported").wait_for()
			page.get_by_text("5 operations cannot become tools").wait_for()
			self.assertEqual(page.get_by_text("Still needs the header").count(), 0)
			page.locator("[data-testid=imported-tool][data-name=a_getOrder] a").click()
			page.wait_for_url("**/huf/tools/a_getOrder")
		request = {
			"tool": "a_getOrder",
			"user": "Administrator",
			"arguments": {"orderId": "17"},
			"send": True,
		}
		self.call("/api/method/huf.api.tool.try_it", request)
		self.assertEqual(self.service.requests[-1]["headers"]["X-Key"], SECRET)
		self.assertNotIn(SECRET, json.dumps(self.call(f"{TOOL}/a_getOrder")))

	def test_select_all_skips_existing_tools_and_a_selected_one_is_replaced(self):
		with self.open_page("/huf/import-tools", width=390, height=844) as page:
			page.get_by_test_id("openapi-private").check()
			self.list_operations(page, "b_")
			self.choose(page, "GET /orders")
			page.get_by_test_id("import").click()
			page.get_by_text("Still needs the header X-Key").wait_for()
			page.reload()
			page.get_by_test_id("openapi-private").check()
			self.list_operations(page, "b_")
			page.get_by_text("The tool b_listOrders exists").wait_for()
			page.get_by_test_id("choose-all").click()
			page.get_by_test_id("import").get_by_text("Import 4 tools").wait_for()
			self.choose(page, "GET /orders")
			page.get_by_test_id("import").click()
			page.get_by_text("5 tools imported").wait_for()
			row = page.locator("[data-testid=imported-tool][data-name=b_listOrders]")
			row.get_by_text("replaced").wait_for()

	def test_replacing_the_uploaded_file_discards_the_operation_list(self):
		document = {**make_document(), "servers": [{"url": self.host}]}
		files = {
			"orders.json": json.dumps(document),
			"note.txt": "- no document",
		}
		with self.open_page("/huf/import-tools") as page:
			# Fails for two of them: the input behind the button is hidden from screen readers, too.
			page.get_by_role("button", name="Upload a file").wait_for()
			for name in files:
				upload = {"name": name, "mimeType": "text/plain", "buffer": files[name].encode()}
				page.get_by_test_id("openapi-file").set_input_files(upload)
				page.get_by_test_id("operation").first.wait_for(state="detached")
				page.get_by_test_id("openapi-list").click()
				page.get_by_test_id("operation" if name == "orders.json" else "error").first.wait_for()
			page.get_by_text("neither JSON nor YAML").wait_for()
			page.get_by_test_id("openapi-discard").click()
			self.assertTrue(page.get_by_test_id("openapi-list").is_disabled())

	def test_credentials_typed_for_one_document_are_not_sent_to_another(self):
		hosts = self.host, self.host.replace("127.0.0.1", "localhost")
		with self.open_page("/huf/import-tools") as page:
			page.get_by_test_id("openapi-private").check()
			for self.host in hosts:
				self.list_operations(page, "d_")
				self.choose(page, "GET /orders/{orderId}")
				header = page.get_by_test_id("header-X-Key")
				self.assertEqual(header.input_value(), "")
				header.fill(SECRET)

	def test_tool_import_without_create_permission_shows_an_error(self):
		with self.open_page("/huf/import-tools", user=CLERK) as page:
			self.list_operations(page, "c_")
			page.get_by_test_id("error").wait_for()
			self.assertEqual(page.get_by_test_id("operation").count(), 0)
