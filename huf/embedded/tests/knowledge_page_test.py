"""Knowledge on the page: a source made, filled, searched and deleted; and an answer in the chat that cites it."""

import json
import os
import shutil
import tempfile
import unittest
import urllib.request
from contextlib import contextmanager
from pathlib import Path

from huf.embedded.tests.browser import needs_browser, open_browser, say
from huf.embedded.tests.server_test import Server, free_port
from huf.tests.ai.knowledge.test_reading import make_pdf
from huf.tests.model_server import ModelServer, text, tool_call

PASSWORD = "a good password 7"
HANDBOOK = "# Absence\n\nCall Ms Müller before nine.\n\n## Notice\n\nThe notice is fourteen days.\n"
TOO_WIDE = "() => document.documentElement.scrollWidth > innerWidth"


@needs_browser
class TestKnowledgePage(unittest.TestCase):
	@classmethod
	def setUpClass(cls):
		home = Path(tempfile.mkdtemp(prefix="huf-test-"))
		cls.addClassCleanup(shutil.rmtree, home, ignore_errors=True)
		cls.server = Server(home, free_port(), HUF_ADMIN_PASSWORD=PASSWORD)
		cls.addClassCleanup(cls.server.stop)
		cls.session = cls.server.login(PASSWORD)

	def test_a_source_is_made_filled_searched_and_deleted(self):
		with self.open_page() as page:
			page.get_by_test_id("sources-empty").wait_for()
			page.get_by_test_id("new-source").click()
			page.get_by_test_id("store").click()
			page.get_by_text("This is needed.").wait_for()
			page.get_by_test_id("field-source_name").fill("Handbook")
			page.get_by_test_id("store").click()
			add_files(
				page,
				("absence.md", HANDBOOK.encode()),
				("lease.pdf", make_pdf("The flat", "The rent is 900")),
			)
			add_files(page, ("broken.pdf", b"no pdf"))
			page.locator("[data-testid=item][data-state=Failed]").wait_for()
			page.locator("[data-testid=item][data-state=Ready]").nth(1).wait_for()
			picture(page, "source")

			search(page, "muller")
			cited = page.get_by_test_id("citation")
			cited.filter(has_text="Call Ms Müller").wait_for()
			search(page, "rent")
			link = cited.filter(has_text="The rent is 900").get_by_role("link").get_attribute("href")
			self.assertTrue(link.endswith("#page=2"), link)
			picture(page, "search")
			search(page, "elephant")
			page.get_by_test_id("nothing-found").wait_for()

			page.locator("[data-testid=item][data-state=Failed]").get_by_test_id("remove-item").click()
			page.get_by_test_id("confirm").click()
			page.locator("[data-testid=item][data-state=Failed]").wait_for(state="detached")
			page.get_by_test_id("delete").click()
			page.get_by_test_id("confirm").click()
			page.get_by_test_id("sources-empty").wait_for()

	def test_records_are_a_source_and_what_is_wrong_with_one_is_told(self):
		self.call("/api/resource/Note", {"title": "Roof", "content": "<p>It <b>leaks</b></p>"})
		with self.open_page() as page:
			page.get_by_test_id("new-source").click()
			page.get_by_test_id("field-source_name").fill("Notes")
			page.get_by_test_id("field-source_type").select_option("DocType")
			page.get_by_test_id("field-reference_doctype").fill("Note")
			page.get_by_test_id("link-choice").filter(has_text="Note").first.click()
			page.get_by_test_id("field-filters").fill("open")
			page.get_by_test_id("store").click()
			self.assertIn("Filters must be JSON", page.get_by_test_id("error").inner_text())
			page.get_by_test_id("field-filters").fill("")
			page.get_by_test_id("store").click()
			page.locator("[data-testid=source][data-name=Notes][data-state=Ready]").wait_for()
			search(page, "leaks")
			self.assertIn("It leaks", page.get_by_test_id("citation").inner_text().replace("**", ""))
		self.call("/api/resource/Knowledge%20Source/Notes", method="DELETE")

	def test_an_answer_shows_what_it_cites(self):
		self.call("/api/resource/Knowledge%20Source", {"source_name": "Rules"})
		attached = {"attached_to_doctype": "Knowledge Source", "attached_to_name": "Rules", "is_private": 1}
		self.call("/api/resource/File", {"file_name": "absence.md", "content": HANDBOOK, **attached})
		with ModelServer() as model:
			for doctype, values in (
				(
					"AI%20Provider",
					{"provide_name": "Scripted", "api_key": "sk-1", "api_base": model.base_url},
				),
				("AI%20Model", {"model_name": "scripted", "provider": "Scripted"}),
				(
					"Agent",
					{
						"agent_name": "Clerk",
						"model": "scripted",
						"agent_tool": [{"tool": "search_knowledge"}],
					},
				),
			):
				self.call(f"/api/resource/{doctype}", values)
			model.script(tool_call("search_knowledge", {"query": "notice"}), text("Fourteen days [1]."))
			with self.open_page() as page:
				page.locator("[data-testid=source][data-name=Rules][data-state=Ready]").wait_for()
				page.goto("/huf/chat?agent=Clerk")
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
				picture(page, "chat")

	@contextmanager
	def open_page(self, address: str = "/huf/knowledge", **options):
		with open_browser(self.server.url, **options) as page:
			name, value = self.session.split("=")
			page.context.add_cookies([{"name": name, "value": value, "url": self.server.url}])
			page.goto(address)
			yield page

	def call(self, path: str, data: dict | None = None, method: str | None = None) -> dict:
		page = self.server.call("/huf", cookie=self.session).read().decode()
		token = json.loads(page.split("window.huf_boot = ")[1].split("</script>")[0])["csrf_token"]
		body = None if data is None else json.dumps(data).encode()
		headers = {"Content-Type": "application/json", "Cookie": self.session, "X-Frappe-CSRF-Token": token}
		request = urllib.request.Request(self.server.url + path, body, headers, method=method)
		return json.load(urllib.request.urlopen(request, timeout=10))


def add_files(page, *files: tuple[str, bytes]) -> None:
	given = [
		{"name": name, "mimeType": "application/octet-stream", "buffer": content} for name, content in files
	]
	page.get_by_test_id("files").set_input_files(given)


def search(page, query: str) -> None:
	page.get_by_test_id("query").fill(query)
	with page.expect_response(lambda answer: "knowledge.search" in answer.url):
		page.get_by_test_id("search").click()


def picture(page, name: str) -> None:
	"""Checks that nothing is wider than a phone; where HUF_PICTURES names a folder, pictures go there."""
	usual, folder = page.viewport_size, os.environ.get("HUF_PICTURES")
	for look, size in (("light", usual), ("dark", usual), ("phone", {"width": 390, "height": 844})):
		page.set_viewport_size(size)
		page.emulate_media(color_scheme="dark" if look == "dark" else "light")
		assert not page.evaluate(TOO_WIDE), f"{name} is wider than {size['width']} pixels"
		if folder:
			page.screenshot(path=Path(folder) / f"{name}-{look}.png", full_page=True)
	page.set_viewport_size(usual)
