"""On Desk forms of a bench, an administrator creates a provider, model, tool, agent and trigger; a document
event leads to an approval. See `bench.py` for the environment variables; a worker must be running.
"""

import time
from urllib.parse import quote
from uuid import uuid4

from huf.embedded.tests.bench import USER, BenchTestCase
from huf.tests.base import enter
from huf.tests.model_server import ModelServer, text, tool_call


class TestFirstHour(BenchTestCase):
	def setUp(self):
		self.model = enter(self, ModelServer(strict=False))
		self.model.forever(text("OK"))
		self.key = uuid4().hex[:6]

	def test_records_created_on_forms_lead_from_a_document_event_to_an_approval(self):
		name, tool, condition = (
			f"Desk Walk {self.key}",
			f"walk_{self.key}",
			f"doc.description == '{self.key}'",
		)
		self.save("AI Provider", provide_name=name, api_base=self.model.base_url, api_key="sk-1")
		self.save("AI Model", model_name=name, provider=name)
		note = {"types": "Create Document", "reference_doctype": "Note", "requires_approval": True}
		self.save("Agent Tool Function", tool_name=tool, description="Writes a note", **note)
		self.save("Agent", rows={"agent_tool": {"tool": tool}}, agent_name=name, model=name)
		event = {"reference_doctype": "ToDo", "doc_event": "after_insert", "condition": condition}
		trigger = {"agent": name, "run_as": USER, "prompt": "Write a note", **event}
		self.save("Agent Trigger", trigger_name=name, **trigger)
		self.model.script(tool_call(tool, {"title": self.key, "content": "from the walk"}), text("Done."))
		self.make("ToDo", description=self.key)
		draft = self.wait_for("Agent Draft", tool=tool)
		with self.open_page(f"/app/agent-draft/{draft}") as page:
			page.locator(".form-dashboard-section:visible td", has_text=self.key).first.wait_for()
			self.shoot(page, "approval of the trigger's run")
			page.locator(".page-head:visible").get_by_role("button", name="Approve", exact=True).click()
			page.locator(".page-head:visible .indicator-pill:not(:has-text('Pending'))").first.wait_for()
		self.wait_for("Note", title=self.key)
		run = self.wait_for("Agent Run", agent=name, status="Success")
		with self.open_page(f"/app/agent-run/{run}") as page:
			cost = page.locator("[data-fieldname=total_cost]:visible")
			cost.scroll_into_view_if_needed()
			self.assertIn("unknown", cost.inner_text())
			self.assertEqual(page.get_by_text("Offline", exact=True).count(), 0)
			self.shoot(page, "run of the trigger")

	def test_administrator_confirms_a_trigger_that_ignores_their_own_changes(self):
		if USER != "Administrator":
			self.skipTest("HUF_BENCH_USER is not Administrator")
		name = f"Desk Walk {self.key}"
		self.make("Agent", agent_name=name)
		with self.open_page("/app/agent-trigger/new") as page:
			event = {"reference_doctype": "ToDo", "doc_event": "after_insert"}
			self.fill(page, trigger_name=name, agent=name, prompt="Hello", **event)
			self.press_save(page)
			page.locator(".modal:visible", has_text="changes by Administrator").wait_for()
			page.locator(".modal:visible").get_by_role("button", name="No").click()
			page.locator(".page-head:visible", has_text="Not Saved").wait_for()

	def test_the_chat_has_neither_assignments_nor_comments(self):
		with self.open_page("/app/agent-chat") as page:
			page.frame_locator("[data-fieldname=chat] iframe").get_by_test_id("composer").wait_for()
			for words in ("Assigned To", "Share", "Comments"):
				self.assertEqual(page.locator(f":visible:text-is('{words}')").count(), 0, words)

	def save(self, doctype: str, rows: dict[str, dict] | None = None, **values) -> None:
		with self.open_page(f"/app/{doctype.lower().replace(' ', '-')}/new") as page:
			self.fill(page, **values)
			for table, row in (rows or {}).items():
				grid = page.locator(f"[data-fieldname={table}].frappe-control")
				grid.locator(".grid-add-row").click()
				for field, value in row.items():
					grid.locator(f".grid-row[data-idx='1'] [data-fieldname={field}]").first.click()
					self.choose(grid.locator(f".grid-row [data-fieldname={field}]"), value)
			self.press_save(page)
			page.wait_for_url(lambda url: "/new-" not in url and not url.endswith("/new"))
			self.shoot(page, f"made {doctype}")

	def fill(self, page, **values) -> None:
		page.locator(".form-layout:visible").first.wait_for()
		for field, value in values.items():
			control = page.locator(f".frappe-control[data-fieldname={field}]:visible").first
			control.scroll_into_view_if_needed()
			kind = control.get_attribute("data-fieldtype")
			if kind == "Check":
				control.locator("input.input-with-feedback").check()
			elif kind == "Select":
				control.locator("select").select_option(value)
			elif kind == "Link":
				self.choose(control, value)
			elif kind == "Code":
				control.locator(".ace_content").click()
				page.keyboard.type(value)
			else:
				control.locator("input, textarea").first.fill(value)

	@staticmethod
	def choose(control, value: str) -> None:
		control.locator("input:visible").first.fill(value)
		# On Frappe 16 and later, the options of a field in a table row are outside that row.
		control.page.locator("[role=option]:visible", has_text=value).first.click()

	@staticmethod
	def press_save(page) -> None:
		# The Desk takes a moment to read what was typed.
		page.keyboard.press("Tab")
		page.wait_for_timeout(500)
		page.locator(".page-head:visible .primary-action:visible").click()

	def wait_for(self, doctype: str, **filters) -> str:
		query = "&".join([f'filters=[["{key}","=","{value}"]]' for key, value in filters.items()][:1])
		for _ in range(60):
			rows = (
				self.people[USER][0]
				.get(f'/api/resource/{quote(doctype)}?{query}&fields=["*"]')
				.json()["data"]
			)
			for row in rows:
				if all(row[key] == value for key, value in filters.items()):
					return row["name"]
			time.sleep(0.5)
		self.fail(f"no {doctype} with {filters} within 30 s")
