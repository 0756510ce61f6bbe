"""What functions return becomes text that a model can read."""

import json
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from enum import Enum

import frappe
from pydantic import BaseModel

from huf.ai.agents.function_tool import create_function_tool
from huf.ai.core.event_loops import run_coroutine
from huf.tests.base import SiteTestCase
from huf.tests.factories import make_user


class Color(Enum):
	RED = "red"


@dataclass
class Point:
	x: int
	colors: frozenset


class Person(BaseModel):
	name: str
	born: date


async def count_up():
	for each in (1, 2):
		yield each


class TestResults(SiteTestCase):
	def call(self, result, limit=0):
		schema = {"type": "object", "properties": {}}
		tool = create_function_tool("returning", "Test", schema, lambda: result, result_limit=limit)
		return run_coroutine(tool.on_invoke_tool(None, "{}"))

	def test_values_that_json_lacks_become_json(self):
		for result, expected in (
			({"b", "a"}, ["a", "b"]),
			({"point": Point(1, frozenset([Color.RED]))}, {"point": {"x": 1, "colors": ["red"]}}),
			([Person(name="A", born=date(2000, 1, 2))], [{"name": "A", "born": "2000-01-02"}]),
			({date(2026, 1, 2): Decimal("1.50")}, {"2026-01-02": "1.50"}),
			([b"abc", b"a\xff"], ["abc", "a\ufffd"]),
			(map(str, (1, 2)), ["1", "2"]),
			({"rows": (each for each in (1, 2))}, {"rows": [1, 2]}),
			(count_up(), [1, 2]),
			(None, None),
		):
			with self.subTest(expected=expected):
				self.assertEqual(json.loads(self.call(result)), expected)

	def test_documents_within_a_result_show_the_fields_that_the_user_may_read(self):
		todo = frappe.get_doc({"doctype": "ToDo", "description": "Call Anna"}).insert()
		user = frappe.get_doc("User", make_user("Huf User"))
		found = json.loads(self.call({"todo": todo, "more": (user,)}))
		self.assertEqual((found["todo"]["doctype"], found["todo"]["description"]), ("ToDo", "Call Anna"))
		self.assertNotIn("reset_password_key", found["more"][0])
		self.assertEqual(found["more"][0]["name"], user.name)

	def test_rows_are_left_out_of_a_long_result_whatever_they_contain(self):
		rows = [{"n": n, "tags": {"a"}} for n in range(100)]
		found = json.loads(self.call({"rows": rows}, limit=500))
		self.assertTrue(found["more"])
		self.assertEqual(found["rows"][0], {"n": 0, "tags": ["a"]})
