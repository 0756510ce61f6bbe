"""Web tools: what they return, what robots.txt forbids, and what they report without a provider."""

import json
from unittest.mock import patch
from urllib.parse import parse_qs, urlsplit

import frappe

from huf.ai.core.errors import ToolError
from huf.ai.core.event_loops import run_coroutine
from huf.ai.core.types import Effect
from huf.ai.runs.entry import run_agent_sync
from huf.ai.tools import registry
from huf.ai.tools.answer import final_answer
from huf.ai.tools.sandbox import execute_code
from huf.ai.tools.sources import read_sources
from huf.ai.tools.web import extract_text, open_url, web_search
from huf.tests.ai.tools.pages import ARTICLE, Site, public
from huf.tests.base import SiteTestCase
from huf.tests.factories import make_agent, make_model
from huf.tests.measuring import time_thread
from huf.tests.model_server import ModelServer, text, tool_call

EFFECTS = {
	"web_search": Effect.EXTERNAL,
	"open_url": Effect.EXTERNAL,
	"extract_text": Effect.READ,
	"final_answer": Effect.READ,
	"generate_file": Effect.WRITE,
	"execute_code": Effect.EXTERNAL,
}


def run_in_fake_sandbox(code: str, language: str) -> dict:
	return {"output": f"{code} in {language}"}


class TestOffer(SiteTestCase):
	def test_built_in_tools_are_registered_with_their_effects(self):
		for name, effect in EFFECTS.items():
			self.assertEqual(registry.find_code_tool("huf", name).effect, effect)
			self.assertEqual(frappe.db.get_value("Agent Tool Function", name, "effect"), effect.value)
		self.assertEqual(registry.load_app_tools("huf").faults, [])

	def test_final_answer_returns_its_argument(self):
		self.assertEqual(final_answer("42"), "42")

	def test_execute_code_is_refused_without_a_sandbox(self):
		with self.assertRaisesRegex(ToolError, "no sandbox.*huf_sandbox"):
			execute_code("print(1)")

	def test_a_sandbox_that_an_app_provides_is_used(self):
		with patch(
			"frappe.get_hooks", return_value=[f"{run_in_fake_sandbox.__module__}.run_in_fake_sandbox"]
		):
			self.assertEqual(execute_code("print(1)"), {"output": "print(1) in python"})


class TestOpenUrl(SiteTestCase):
	def setUp(self):
		super().setUp()
		self.site = Site(self)
		public(self, "127.0.0.1")

	def test_page_is_returned_as_title_and_readable_text_marked_untrusted(self):
		page = run_coroutine(open_url(self.site.add("/roof", ARTICLE)))
		self.assertEqual((page["title"], page["untrusted"]), ("The roof", True))
		self.assertIn("It leaks in the north.", page["text"])
		self.assertFalse([word for word in ("Menu", "evil", "<p>") if word in page["text"]])
		source = {"url": self.site.url + "/roof", "title": "The roof"}
		self.assertEqual(read_sources(json.dumps(page)), [source])

	def test_plain_text_and_json_are_returned_as_text(self):
		self.assertEqual(
			run_coroutine(open_url(self.site.add("/a", "one\n\n\n\ntwo", "text/plain")))["text"], "one\n\ntwo"
		)
		self.assertEqual(run_coroutine(open_url(self.site.answer_json("/b", {"a": 1})))["text"], '{"a": 1}')

	def test_a_tag_with_very_many_attributes_takes_no_time(self):
		attributes = " ".join(f"a{number}=1" for number in range(60_000))
		for start in ("p", "p a='>'", "p a='<b'", 'p a=b"c d=">"', 'p ="x=">"', "!--><p", "script-x><p"):
			page = f"<article><{start} {attributes}>The roof leaks. {'It is old. ' * 50}</p></article>"
			with self.subTest(start):
				self.assertLess(time_thread(lambda page=page: extract_text(page)), 3)
				self.assertIn("The roof leaks.", extract_text(page)["text"])

	def test_a_long_text_after_a_less_than_sign_is_read(self):
		page = f"<html><p>Roofs <5 years. {'It is new. ' * 150}</p><p>Done.</p></html>"
		self.assertEqual(extract_text(page)["text"].count("It is new."), 150)

	def test_a_fragment_of_html_is_read(self):
		for fragment in (
			"<p>Hello</p>",
			"<div>Hello</div>",
			"<body><p>Hello",
			"<table><tr><td>Hello</td></tr></table>",
		):
			self.assertEqual(extract_text(fragment)["text"].strip(), "Hello")

	def test_a_page_with_too_many_tags_is_read_in_part(self):
		for page, is_whole in (("<p>word" * 390, True), ("<p>word" * 600, False)):
			with patch("huf.ai.tools.web.MAX_TAGS", 400):
				found = extract_text(page)
			self.assertEqual("more" not in found, is_whole)
			self.assertTrue(300 < found["text"].count("word") <= 400)

	def test_http_error_status_is_reported(self):
		with self.assertRaisesRegex(ToolError, "status 404"):
			run_coroutine(open_url(f"{self.site.url}/nowhere"))

	def test_robots_txt_is_obeyed_and_fetched_once(self):
		self.site.add("/robots.txt", "User-agent: *\nDisallow: /private/*.html\nAllow: /\n", "text/plain")
		page = self.site.add("/private/a.html", ARTICLE)
		with self.assertRaisesRegex(ToolError, "does not allow programs to read /private/a.html"):
			run_coroutine(open_url(page))
		run_coroutine(open_url(self.site.add("/open.html", ARTICLE)))
		self.assertEqual(self.site.seen, ["/robots.txt", "/open.html"])

	def test_robots_txt_applies_to_redirect_targets(self):
		self.site.add("/robots.txt", "User-agent: Huf\nDisallow: /closed\n", "text/plain")
		self.site.add("/closed", ARTICLE)
		with self.assertRaisesRegex(ToolError, "to read /closed"):
			run_coroutine(open_url(self.site.redirect("/go", "/closed")))
		self.assertNotIn("/closed", self.site.seen)

	def test_failing_robots_txt_blocks_reading(self):
		self.site.add("/robots.txt", "", status=503)
		with self.assertRaisesRegex(ToolError, "status 503"):
			run_coroutine(open_url(self.site.add("/a", ARTICLE)))

	def test_extract_text_handles_html_and_plain_text(self):
		self.assertIn("It leaks in the north.", extract_text(ARTICLE)["text"])
		self.assertEqual(extract_text("a   b\n\n\n\n\nc < d")["text"], "a b\n\nc < d")


class TestWebSearch(SiteTestCase):
	def tearDown(self):
		self.choose(None, None)
		super().tearDown()

	def choose(self, provider, base_url):
		settings = frappe.get_doc("Huf Settings")
		settings.update({"search_provider": provider, "search_base_url": base_url})
		settings.search_api_key = "search-key-123456" if provider else None
		settings.save()
		frappe.db.commit()

	def test_search_without_a_provider_names_the_role_that_can_set_one(self):
		with self.assertRaisesRegex(ToolError, "No web search is set up.*Huf Manager"):
			run_coroutine(web_search("roof"))

	def test_searxng_results_are_returned_untrusted_and_citable(self):
		site = Site(self)
		found = [
			{"title": f"Page {n}", "url": f"https://example.com/{n}", "content": "Roofs"} for n in range(9)
		]
		query = "leaking roof"
		site.answer_json("/search?q=leaking+roof&format=json", {"results": found})
		self.choose("SearXNG", site.url)
		answer = run_coroutine(web_search(query, limit=2))
		self.assertEqual(parse_qs(urlsplit(site.seen[0]).query)["q"], [query])
		first = {"title": "Page 0", "url": "https://example.com/0", "text": "Roofs"}
		self.assertEqual(
			(answer["results"][0], len(answer["results"]), answer["untrusted"]), (first, 2, True)
		)
		self.assertEqual(
			read_sources(json.dumps(answer))[0], {"url": "https://example.com/0", "title": "Page 0"}
		)

	def test_failed_search_is_reported_without_the_api_key(self):
		site = Site(self)
		self.choose("SearXNG", site.url)
		with self.assertRaisesRegex(ToolError, "web search by SearXNG failed") as caught:
			run_coroutine(web_search("roof"))
		self.assertNotIn("search-key", str(caught.exception))

	def test_agent_receives_the_error_of_an_unconfigured_web_search(self):
		with ModelServer() as server:
			agent = make_agent(make_model(server), ("web_search", "final_answer"))
			server.script(tool_call("web_search", {"query": "roof"}), text("There is no search here."))
			result = run_agent_sync(agent, "Look it up")
			tool_result = server.requests[-1]["messages"][-1]["content"]
		self.assertEqual(result["status"], "Success")
		self.assertIn("No web search is set up", tool_result)
