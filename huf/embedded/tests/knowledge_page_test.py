"""Knowledge sources are created, filled, searched and deleted on the page, and cited in a chat."""

import os
from pathlib import Path

from huf.embedded.tests.browser import needs_browser, resize, say
from huf.embedded.tests.pages import PageTestCase, choose
from huf.tests.ai.knowledge.test_reading import make_pdf
from huf.tests.model_server import ModelServer, text, tool_call

PAGE = "/huf/knowledge"
HANDBOOK = "# Absence\n\nCall Ms Müller before nine.\n\n## Notice\n\nThe notice is fourteen days.\n"
TOO_WIDE = "() => document.documentElement.scrollWidth > innerWidth"


@needs_browser
class TestFirstSource(PageTestCase):
	def test_source_is_created_filled_with_files_searched_and_deleted(self):
		with self.open_page(PAGE) as page:
			page.get_by_test_id("sources-empty").wait_for()
			page.get_by_test_id("new-source").click()
			page.get_by_test_id("save").click()
			page.get_by_text("This field is required.").wait_for()
			page.get_by_test_id("field-source_name").fill("Handbook")
			page.get_by_test_id("save").click()
			add_files(page, ("broken.pdf", b"no pdf"))
			page.locator("[data-testid=source][data-state=Failed]").wait_for()
			add_files(
				page,
				("absence.md", HANDBOOK.encode()),
				("lease.pdf", make_pdf("The flat", "The rent is 900")),
			)
			add_files(page, ("empty.txt", b""))
			page.get_by_text("empty.txt: This file is empty.").wait_for()
			add_files(page, ("large.txt", b"x" * 27_000_000))
			page.get_by_text("large.txt: This is larger than the site accepts.").wait_for()
			page.locator("[data-testid=item][data-state=Failed]").wait_for()
			page.locator("[data-testid=item][data-state=Ready]").nth(1).wait_for()
			page.locator("[data-testid=source][data-state=Ready]").wait_for()
			take_pictures(page, "source")

			search(page, "muller")
			cited = page.get_by_test_id("citation")
			cited.filter(has_text="Call Ms Müller").wait_for()
			search(page, "rent")
			link = cited.filter(has_text="The rent is 900").get_by_role("link").get_attribute("href")
			self.assertTrue(link.endswith("#page=2"), link)
			take_pictures(page, "search")
			search(page, "elephant")
			page.get_by_test_id("nothing-found").wait_for()

			page.locator("[data-testid=item][data-state=Failed]").get_by_test_id("remove-item").click()
			page.locator("[data-testid=item][data-state=Failed]").wait_for(state="detached")
			page.get_by_test_id("delete").click()
			page.get_by_test_id("sources-empty").wait_for()


@needs_browser
class TestKnowledgePage(PageTestCase):
	def test_doctype_source_is_searchable_and_invalid_filters_are_reported(self):
		self.make("Note", title="Roof", content="<p>It <b>leaks</b></p>")
		with self.open_page(PAGE) as page:
			page.get_by_test_id("new-source").click()
			page.get_by_test_id("field-source_name").fill("Notes")
			page.get_by_test_id("field-source_type").select_option("DocType")
			choose(page, "reference_doctype", "Note")
			page.get_by_test_id("field-filters").fill("open")
			page.get_by_test_id("save").click()
			self.assertIn("Filters must be JSON", page.get_by_test_id("error").inner_text())
			page.get_by_test_id("field-filters").fill("")
			page.get_by_test_id("save").click()
			page.locator("[data-testid=source][data-name=Notes][data-state=Ready]").wait_for(timeout=60_000)
			search(page, "leaks")
			self.assertIn("It leaks", page.get_by_test_id("citation").inner_text().replace("**", ""))
			# As the Desk's button does.
			page.goto(f"{PAGE}?source=Notes")
			page.get_by_test_id("item").wait_for()
		self.call("/api/resource/Knowledge%20Source/Notes", method="DELETE")

	def test_answer_shows_its_citations_before_and_after_a_reload(self):
		self.make("Knowledge Source", source_name="Rules")
		attached = {"attached_to_doctype": "Knowledge Source", "attached_to_name": "Rules", "is_private": 1}
		self.make("File", file_name="absence.md", content=HANDBOOK, **attached)
		with ModelServer() as model:
			self.make("AI Provider", provide_name="Scripted", api_key="sk-1", api_base=model.base_url)
			self.make("AI Model", model_name="scripted", provider="Scripted")
			tools = [{"tool": "search_knowledge"}]
			self.make("Agent", agent_name="Clerk", model="scripted", agent_tool=tools)
			model.script(tool_call("search_knowledge", {"query": "notice"}), text("Fourteen days [1]."))
			with self.open_page(PAGE) as page:
				page.locator("[data-testid=source][data-name=Rules][data-state=Ready]").wait_for(
					timeout=60_000
				)
				page.goto("/huf/chat?agent=Clerk")
				# The first call of a model takes seconds: a child process checks it with LiteLLM.
				page.set_default_timeout(60_000)
				say(page, "How long is the notice?")
				for _ in range(2):
					cited = page.get_by_test_id("cited").get_by_test_id("citation")
					self.assertEqual(cited.get_attribute("data-number"), "1")
					self.assertIn("Absence › Notice", cited.inner_text())
					self.assertTrue(
						cited.get_by_role("link").get_attribute("href").startswith("/private/files/")
					)
					page.reload()
					page.get_by_test_id("cited").wait_for()
				take_pictures(page, "chat")


def add_files(page, *files: tuple[str, bytes]) -> None:
	payloads = [
		{"name": name, "mimeType": "application/octet-stream", "buffer": content} for name, content in files
	]
	page.get_by_test_id("files").set_input_files(payloads)


def search(page, query: str) -> None:
	page.get_by_test_id("query").fill(query)
	with page.expect_response(lambda answer: "knowledge.search" in answer.url):
		page.get_by_test_id("search").click()


def take_pictures(page, name: str) -> None:
	"""Check that the page fits its width in each look; save pictures if HUF_PICTURES names a folder."""
	usual, folder = page.viewport_size, os.environ.get("HUF_PICTURES")
	for look, size in (("light", usual), ("dark", usual), ("phone", {"width": 390, "height": 844})):
		resize(page, size)
		theme = "dark" if look == "dark" else "light"
		page.emulate_media(color_scheme=theme)
		page.locator(f"html[data-theme={theme}]").wait_for(state="attached")
		assert not page.evaluate(TOO_WIDE), f"{name} is wider than {size['width']} pixels"
		if folder:
			page.screenshot(path=Path(folder) / f"{name}-{look}.png", full_page=True)
	resize(page, usual)
