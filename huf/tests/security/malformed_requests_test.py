"""Malformed requests to Frappe's own endpoints are errors of the client, so no response is 5xx."""

import json
from collections.abc import Iterator
from urllib.parse import quote, urlencode

from huf.embedded.tests.sites import Browser, SiteTestCase

FIELDS = ("name", "date", "creation", "idx", "nope", None, 1, "a b")
HUGE = 10**30
OPERATORS = ("=", "in", "is", "between", "timespan", None, 1)
VALUES = (
	"x",
	"full",
	None,
	1e400,
	[],
	["a", "b"],
	{"a": 1},
	[[1], [2]],
	10**30,
	"\0",
	"\ud800",
	"2020-99-99",
)
TEXTS = (
	"",
	"x",
	"[null]",
	"[[]]",
	'{"a": {}}',
	"[1]",
	"1e999",
	'["count(name)"]',
	"name, name",
	"name desc, nope",
	"9" * 25,
)
PARAMETERS = (
	"filters",
	"or_filters",
	"fields",
	"order_by",
	"group_by",
	"limit_start",
	"limit_page_length",
	"parent",
)
DOCTYPES = ("ToDo", "Agent Run", "Huf Settings", "Has Role", "Nope", "", "../x")
BODIES = (
	1,
	"x",
	[],
	None,
	{"doctype": 1},
	{"description": {"a": 1}},
	{"description": "x", "date": "x"},
	{"description": 10**30},
	{"description": "x", "idx": "x"},
	{"description": "x", "allocated_to": [1]},
	{"data": "{"},
	{"data": "[1]"},
)


def write_paths() -> Iterator[str]:
	for field in FIELDS:
		for operator in OPERATORS:
			for value in VALUES:
				filters = json.dumps([[field, operator, value]])
				yield f"/api/resource/ToDo?{urlencode({'filters': filters})}"
	for text in TEXTS:
		for parameter in PARAMETERS:
			query = urlencode({parameter: text})
			yield f"/api/resource/ToDo?{query}"
			yield f"/api/v2/document/Agent%20Run?{query}"
		for doctype in DOCTYPES:
			for method in ("get", "get_value", "get_count", "get_list"):
				query = urlencode({"doctype": doctype, "fieldname": text, "filters": text})
				yield f"/api/method/frappe.client.{method}?{query}"
		for parameter in ("filters", "page_length", "searchfield", "doctype"):
			query = urlencode({"doctype": "ToDo", "txt": "a", parameter: text})
			yield f"/api/method/frappe.desk.search.search_link?{query}"


RAW_BODIES = (
	'{"description": ' + "[" * 100_000 + "]" * 100_000 + "}",
	'{"description": "x", "idx": NaN}',
	'{"description": "\\ud800"}',
	'{"description": "x", "idx": -Infinity}',
	"[" * 100_000,
)


class TestMalformedRequests(SiteTestCase):
	def setUp(self):
		super().setUp()
		self.browser = Browser()
		self.browser.login(self.make_user("curious@example.com", "Huf User"))
		self.faults: list[str] = []

	def send(self, path: str, method: str = "GET", **options) -> None:
		answer = self.browser.open(path, method, **options)
		if answer.status_code >= 500:
			self.faults.append(f"{method} {path} {options}: {answer.status_code} {answer.text[:200]}")

	def test_malformed_queries_never_return_a_server_error(self):
		for path in write_paths():
			self.send(path)
		self.assertFalse(self.faults, "\n".join(self.faults[:20]))

	def test_malformed_bodies_and_urls_never_return_a_server_error(self):
		for body in BODIES:
			for path in ("/api/resource/ToDo", "/api/v2/document/ToDo"):
				self.send(path, "POST", json=body)
			for method in ("insert", "submit", "cancel"):
				values = {"doc": body, "doctype": str(body), "name": "x"}
				self.send(f"/api/method/frappe.client.{method}", "POST", json=values)
		for method, values in (("get", {"name": HUGE}), ("save", {"doc": {"doctype": "ToDo", "name": HUGE}})):
			self.send(f"/api/method/frappe.client.{method}", "POST", json={"doctype": "ToDo", **values})
		for raw in (b"{", b"\xff", b"", b"nul"):
			self.send("/api/resource/ToDo", "POST", data=raw, content_type="application/json")
		for doctype in DOCTYPES:
			for method in ("GET", "PUT", "DELETE", "POST"):
				self.send(f"/api/resource/{quote(doctype)}/x", method, json={"a": 1})
		self.assertFalse(self.faults, "\n".join(self.faults[:20]))

	def test_deeply_nested_or_non_finite_json_never_returns_a_server_error(self):
		for body in RAW_BODIES:
			for path in ("/api/resource/ToDo", "/api/method/frappe.client.insert", "/api/method/login"):
				self.send(path, "POST", data=body, content_type="application/json")
		self.assertEqual(self.faults, [])

	def test_a_text_that_is_too_long_for_its_field_is_refused_with_the_fields_label(self):
		self.browser.login(self.make_user("manager@example.com", "Huf Manager"))
		values = {"agent_name": "Long", "instructions": "x", "cap_message": "ü" * 40_000}
		answer = self.browser.open("/api/resource/Agent", "POST", json=values)
		self.assertEqual((answer.status_code, answer.json["exc_type"]), (417, "CharacterLengthExceededError"))
		self.assertIn("Step Limit Message", answer.text)
		self.assertLess(len(answer.text), 1000)

	def test_an_invalid_between_filter_returns_an_explanation(self):
		filters = json.dumps([["description", "between", ["a", "b"]]])
		answer = self.browser.open(f"/api/resource/ToDo?{urlencode({'filters': filters})}")
		self.assertEqual((answer.status_code, answer.json["exc_type"]), (417, "DataError"))
		self.assertIn("needs a Date or Datetime field", answer.text)
