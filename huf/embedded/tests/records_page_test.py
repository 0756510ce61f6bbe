"""Records of any DocType are listed, created, edited, submitted, cancelled and deleted on the page."""

from urllib.error import HTTPError

from huf.embedded.tests.browser import needs_browser
from huf.embedded.tests.pages import PageTestCase, choose, wait_for_deletion

CLERK = "clerk@example.com"
ALL = ("read", "write", "create", "delete", "submit", "cancel")
FIELDS = [
	{
		"fieldname": "customer",
		"fieldtype": "Link",
		"options": "User",
		"label": "Customer",
		"reqd": 1,
		"in_list_view": 1,
	},
	{"fieldname": "kind", "fieldtype": "Select", "options": "Shop\nWeb", "label": "Kind", "default": "Shop"},
	{
		"fieldname": "site",
		"fieldtype": "Data",
		"label": "Address of the site",
		"depends_on": 'eval:doc.kind == "Web"',
	},
	{"fieldname": "lines", "fieldtype": "Table", "options": "Order Line", "label": "Lines"},
	{"fieldname": "secret", "fieldtype": "Password", "label": "Secret"},
	{"fieldname": "margin", "fieldtype": "Percent", "label": "Margin", "permlevel": 1},
]
MOVES = {"row-up": "row-open", "row-down": "row-open", "row-add": "row-add", "row-remove": "row-open"}
"""Buttons of a row, and the button that has the focus after each."""
LINE_FIELDS = [
	{"fieldname": "article", "fieldtype": "Data", "label": "Article", "reqd": 1, "in_list_view": 1},
	{"fieldname": "count", "fieldtype": "Int", "label": "Count", "default": "1", "in_list_view": 1},
]


@needs_browser
class TestRecordsPage(PageTestCase):
	@classmethod
	def setUpClass(cls):
		super().setUpClass()
		own = {"module": "Huf", "custom": 1}
		cls.make("DocType", name="Order Line", istable=1, fields=LINE_FIELDS, **own)
		rules = [
			{"role": "System Manager", **dict.fromkeys(ALL, 1)},
			{"role": "System Manager", "permlevel": 1, "read": 1, "write": 1},
			{"role": "Huf User", "read": 1},
		]
		cls.make(
			"DocType",
			name="Order",
			is_submittable=1,
			fields=FIELDS,
			permissions=rules,
			autoname="hash",
			**own,
		)
		cls.add_user(CLERK, "Huf User")

	def get_stored(self, name: str) -> dict:
		return self.call(f"/api/resource/Order/{name}")["data"]

	def test_a_record_is_made_with_rows_changed_submitted_cancelled_and_deleted(self):
		with self.open_page("/huf/records") as page:
			page.get_by_test_id("doctype").filter(has_text="Order").click()
			page.get_by_test_id("new-record").click()
			page.get_by_test_id("save").click()
			page.get_by_text("Fill in: Customer").wait_for()
			choose(page, "customer", "Administrator")
			self.assertEqual(page.get_by_test_id("field-site").count(), 0)
			page.get_by_test_id("field-kind").select_option("Web")
			page.get_by_test_id("field-site").fill("shop.example.com")
			page.get_by_test_id("field-secret").fill("hush")
			for article in ("Nails", "Hammer"):
				page.get_by_test_id("row-add").click()
				page.get_by_test_id("field-article").fill(article)
			for button, next_button in MOVES.items():
				page.get_by_test_id(button).press("Enter")
				page.locator(f"[data-testid={next_button}]:focus").wait_for()
			page.keyboard.press("Control+s")
			page.wait_for_url("**/huf/records/Order/*")
			record = page.locator("[data-testid=record]:not([data-name=''])")
			order = self.get_stored(record.get_attribute("data-name"))
			self.assertEqual(
				[(row["article"], row["count"]) for row in order["lines"]], [("Nails", 1), ("Hammer", 1)]
			)
			self.assertEqual((order["site"], order["docstatus"]), ("shop.example.com", 0))

			page.get_by_test_id("row-open").first.click()
			page.get_by_test_id("field-count").fill("100")
			page.get_by_test_id("save").click()
			page.get_by_test_id("saved").wait_for()
			self.assertEqual([row["count"] for row in self.get_stored(order["name"])["lines"]], [100, 1])
			for action, docstatus in (("submit", "1"), ("cancel", "2")):
				page.get_by_test_id(f"{action}-record").click()
				page.get_by_test_id("confirm").click()
				page.locator(f"[data-testid=record][data-docstatus='{docstatus}']").wait_for()
				self.assertEqual(page.get_by_test_id("row-add").count(), 0)
			page.get_by_test_id("delete-record").click()
			page.wait_for_url("**/huf/records/Order")
			wait_for_deletion(page)
		self.assertRaises(HTTPError, self.get_stored, order["name"])

	def test_unsaved_edit_survives_a_reload_and_keeps_a_concurrent_change(self):
		order = self.make("Order", customer="Administrator")["name"]
		with self.open_page(f"/huf/records/Order/{order}") as page:
			page.get_by_test_id("field-kind").select_option("Web")
			page.reload()
			self.assertEqual(page.get_by_test_id("field-kind").input_value(), "Web")
			self.call(f"/api/resource/Order/{order}", {"margin": 5}, "PUT")
			page.get_by_test_id("save").click()
			page.get_by_text("This record was saved elsewhere in the meantime").wait_for()
			page.get_by_role("button", name="Keep mine").click()
			page.get_by_test_id("saved").wait_for()
		now = self.get_stored(order)
		self.assertEqual((now["kind"], now["margin"]), ("Web", 5))

	def test_unsaved_edit_of_a_record_that_is_deleted_elsewhere_can_still_be_read_and_discarded(self):
		order = self.make("Order", customer="Administrator")["name"]
		with self.open_page(f"/huf/records/Order/{order}") as page:
			page.get_by_test_id("field-kind").select_option("Web")
			self.call(f"/api/resource/Order/{order}", method="DELETE")
			page.reload()
			page.get_by_test_id("kept-input").get_by_text("Kind: Web").wait_for()
			page.goto("/huf/records/Order/another")
			page.get_by_test_id("retry").wait_for()
			self.assertEqual(page.get_by_test_id("kept-input").count(), 0)
			page.goto(f"/huf/records/Order/{order}")
			page.get_by_test_id("discard-input").click()
			page.get_by_test_id("kept-input").wait_for(state="detached")
			page.reload()
			page.get_by_test_id("retry").wait_for()
			self.assertEqual(page.get_by_test_id("kept-input").count(), 0)

	def test_restored_edit_neither_reverts_a_change_made_before_the_reload_nor_conflicts_once_discarded(self):
		order = self.make("Order", customer="Administrator")["name"]
		with self.open_page(f"/huf/records/Order/{order}") as page:
			page.get_by_test_id("field-kind").select_option("Web")
			self.call(f"/api/resource/Order/{order}", {"margin": 5}, "PUT")
			page.reload()
			page.get_by_test_id("save").click()
			page.get_by_role("button", name="Keep mine").click()
			page.get_by_test_id("saved").wait_for()
			now = self.get_stored(order)
			self.assertEqual((now["kind"], now["margin"]), ("Web", 5))
			page.get_by_test_id("field-kind").select_option("Shop")
			self.call(f"/api/resource/Order/{order}", {"margin": 6}, "PUT")
			page.reload()
			page.get_by_role("button", name="Discard").click()
			page.get_by_test_id("field-kind").select_option("Shop")
			page.get_by_test_id("save").click()
			page.get_by_test_id("saved").wait_for()
		now = self.get_stored(order)
		self.assertEqual((now["kind"], now["margin"]), ("Shop", 6))

	def test_an_empty_color_is_not_shown_as_black_and_can_be_cleared(self):
		todo = self.make("ToDo", description="Paint the fence")["name"]
		with self.open_page(f"/huf/records/ToDo/{todo}") as page:
			field, empty = page.get_by_test_id("field-color"), page.get_by_text("No color")
			empty.wait_for()
			self.assertEqual(field.input_value(), "#ffffff")
			self.assertIsNone(self.get_color(todo))
			field.fill("#ff0000")
			self.assertEqual(empty.count(), 0)
			page.get_by_test_id("save").click()
			page.get_by_test_id("saved").wait_for()
			self.assertEqual(self.get_color(todo), "#ff0000")
			page.get_by_test_id("clear-color").click()
			empty.wait_for()
			page.get_by_test_id("save").click()
			page.get_by_test_id("save").wait_for(state="hidden")
			page.get_by_test_id("saved").wait_for()
		self.assertFalse(self.get_color(todo))

	def get_color(self, todo: str) -> str | None:
		return self.call(f"/api/resource/ToDo/{todo}")["data"].get("color")

	def test_file_is_attached_and_the_list_search_is_kept_on_return(self):
		order = self.make("Order", customer="Guest")["name"]
		self.make("Order", customer="Administrator")
		with self.open_page("/huf/records/Order?q=Guest", width=390, height=844) as page:
			page.locator(f"[data-testid=record-item][data-name='{order}']").click()
			file = {"name": "note.txt", "mimeType": "text/plain", "buffer": b"hello"}
			page.get_by_test_id("add-file").set_input_files(file)
			link = page.get_by_test_id("file").get_by_role("link")
			self.assertTrue(link.get_attribute("href").startswith("/private/files/note"))
			page.go_back()
			page.get_by_test_id("records").wait_for()
			self.assertEqual(page.get_by_test_id("record-item").count(), 1)

	def test_the_search_field_keeps_its_focus_and_text_while_the_list_is_read(self):
		self.make("Order", customer="Guest")
		with self.open_page("/huf/records/Order") as page:
			page.get_by_test_id("record-item").first.wait_for()
			page.route("**/huf.api.record.get_records*", lambda route: None)
			page.get_by_test_id("search").press_sequentially("Gu")
			page.wait_for_url("**?q=Gu")
			page.keyboard.type("est")
			self.assertEqual(page.get_by_test_id("search").input_value(), "Guest")

	def test_files_stored_before_a_failed_upload_are_listed(self):
		order = self.make("Order", customer="Guest")["name"]
		files = [
			{"name": f"{name}.txt", "mimeType": "text/plain", "buffer": b"hello"} for name in ("one", "two")
		]

		def answer(route):
			is_refused = b"two.txt" in route.request.post_data_buffer
			route.abort() if is_refused else route.continue_()

		with self.open_page(f"/huf/records/Order/{order}") as page:
			page.route("**/api/method/upload_file", answer)
			page.get_by_test_id("add-file").set_input_files(files)
			page.get_by_test_id("file").wait_for()
			self.assertIn("one", page.get_by_test_id("file").inner_text())
			page.unroute("**/api/method/upload_file")
			page.get_by_test_id("add-file").set_input_files(files[1])
			page.get_by_test_id("file").nth(1).wait_for()

	def test_read_only_user_sees_no_inputs_secrets_or_higher_permlevels(self):
		order = self.make("Order", customer="Administrator", margin=12, secret="hush")["name"]
		with self.open_page(f"/huf/records/Order/{order}", user=CLERK) as page:
			page.get_by_test_id("field-customer").wait_for()
			self.assertEqual(page.get_by_test_id("field-margin").count(), 0)
			self.assertEqual(page.locator("input:visible, select:visible").count(), 0)
			self.assertNotIn("hush", page.content())
		with self.assertRaises(HTTPError) as refused:
			self.call("/api/method/huf.api.record.get_meta?doctype=AI%20Provider", user=CLERK)
		self.assertEqual(refused.exception.code, 403)
