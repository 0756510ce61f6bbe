"""Annotations become JSON schemas, and arguments become what the annotations name."""

from __future__ import annotations

import sys
import unittest
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from enum import Enum
from typing import TYPE_CHECKING, Annotated, Any, Literal

from jsonschema import Draft202012Validator
from pydantic import BaseModel, Field
from typing_extensions import TypedDict

from huf.ai.core.errors import ToolError
from huf.ai.tools.custom_functions import call_function, check_function_call
from huf.ai.tools.signatures import build_schema, check_annotations, describe_function

if TYPE_CHECKING:
	from nowhere import Missing


class Color(Enum):
	RED = "red"
	BLUE = "blue"


class Line(TypedDict, total=False):
	service: str
	day: date


@dataclass
class Point:
	x: int
	y: int = 0


class Person(BaseModel):
	name: str
	title: str = Field("Dr", description="Of address")
	parent: Person | None = None


def echo(**values: Any) -> dict:
	return values


def take_days(day: date, at: datetime, price: Decimal = Decimal("1.5"), until: date | None = None) -> list:
	return [day, at, price, until]


def take_choices(color: Color, other: Color = Color.BLUE, size: Literal["S", "M"] | None = None) -> list:
	return [color, other, size]


def take_structures(point: Point, lines: list[Line], person: Person | None = None) -> list:
	return [point, lines, person]


def take_collections(tags: set[str], pair: tuple[int, str] = (1, "a"), more: Sequence[int] = ()) -> list:
	return [tags, pair, more]


def take_fields(
	stars: Annotated[int, Field(ge=1, le=5)],
	why: Annotated[str, Field(description="The reason")] = "",
	who: Annotated[str, "The guest"] = "",
) -> list:
	return [stars, why, who]


def take_field_as_default(n: int = Field(3, gt=0)) -> int:
	return n


def take_positional(first: int, /, second: int = 2) -> list:
	return [first, second]


def take_missing(record: Missing, count: int = 1) -> list:
	return [record, count]


def take_numbers(counts: dict[str, int], n: int = 1) -> list:
	return [counts, n]


def google(day: str, shops: list[str]):
	"""Sum prices
	of a day.

	Args:
		day (date): The day,
			not later than today
		shops (list[str], optional): Which: all if empty
	Returns:
		shop: not a parameter
	"""


def numpy(day: str, shops: list[str], more: list[str]):
	"""Sum prices
	of a day.

	Parameters
	----------
	day : date
		The day,
		not later than today
	shops, more : list of str, optional
		Which: all if empty
	"""


def sphinx(day: str, shops: list[str]):
	"""Sum prices
	of a day.

	:param day: The day,
		not later than today
	:param list[str] shops: Which: all if empty
	:returns: not a parameter
	"""


class TestSchemas(unittest.TestCase):
	def test_schemas_are_valid_and_lists_have_an_item_type(self):
		for function in (take_days, take_choices, take_structures, take_collections, take_fields):
			with self.subTest(function.__name__):
				schema = build_schema(function)
				Draft202012Validator.check_schema(schema)
				for each in schema["properties"].values():
					self.assertTrue(each.get("type") != "array" or "items" in each, each)

	def test_dates_have_a_format(self):
		properties = build_schema(take_days)["properties"]
		self.assertEqual(properties["day"], {"type": "string", "format": "date"})
		self.assertEqual(properties["until"], {"type": "string", "format": "date"})

	def test_enums_and_optional_literals_list_their_values(self):
		schema = build_schema(take_choices)
		self.assertEqual(schema["required"], ["color"])
		colors = {"type": "string", "enum": ["red", "blue"]}
		self.assertEqual(schema["properties"]["other"], colors | {"default": "blue"})
		self.assertEqual(schema["properties"]["size"], {"type": "string", "enum": ["S", "M"]})

	def test_structures_are_described_in_place_and_recursive_ones_by_reference(self):
		schema = build_schema(take_structures)
		point, lines = schema["properties"]["point"], schema["properties"]["lines"]
		self.assertEqual((point["properties"]["x"], point["required"]), ({"type": "integer"}, ["x"]))
		self.assertEqual(lines["items"]["properties"]["day"], {"type": "string", "format": "date"})
		person = schema["$defs"]["Person"]["properties"]
		self.assertEqual(person["title"], {"type": "string", "default": "Dr", "description": "Of address"})
		Draft202012Validator(schema).validate({"point": {"x": 1}, "lines": [], "person": {"name": "A"}})
		self.assertFalse(
			Draft202012Validator(schema).is_valid({"point": {"x": 1}, "lines": [], "person": {}})
		)

	def test_fields_of_pydantic_bring_limits_and_descriptions(self):
		properties = build_schema(take_fields)["properties"]
		self.assertEqual(properties["stars"], {"type": "integer", "minimum": 1, "maximum": 5})
		self.assertEqual(properties["why"]["description"], "The reason")
		self.assertEqual(properties["who"]["description"], "The guest")
		self.assertEqual(call_function(take_fields, {"stars": 2}), [2, "", ""])

	def test_values_of_a_dict_have_their_type(self):
		counts = build_schema(take_numbers)["properties"]["counts"]
		self.assertEqual(counts, {"type": "object", "additionalProperties": {"type": "integer"}})

	def test_what_a_model_cannot_fill_in_is_refused_with_advice(self):
		for function, advice in (
			(take_missing, "'Missing'.* TYPE_CHECKING"),
			(take_positional, "Remove the /"),
			(take_field_as_default, r"Write Annotated\[\.\.\., Field"),
		):
			with self.subTest(function.__name__), self.assertRaisesRegex(ValueError, advice):
				check_annotations(function)
		self.assertEqual(call_function(take_missing, {"record": 1}), [1, 1])

	@unittest.skipIf(sys.version_info < (3, 14), "annotations are evaluated when a function is defined")
	def test_names_for_type_checkers_only_are_undefined_also_where_annotations_are_lazy(self):
		names: dict[str, Any] = {}
		source = "def take_lazy(record: Missing, day: str = ''):\n\treturn [record, day]"
		exec(compile(source, "lazy", "exec", dont_inherit=True), names)  # without this module's __future__
		with self.assertRaisesRegex(ValueError, "'Missing'.* TYPE_CHECKING"):
			check_annotations(names["take_lazy"])
		self.assertEqual(call_function(names["take_lazy"], {"record": 1}), [1, ""])

	def test_docstrings_of_three_styles_describe_a_function_and_its_parameters(self):
		for function in (google, numpy, sphinx):
			with self.subTest(function.__name__):
				self.assertEqual(describe_function(function), "Sum prices\nof a day.")
				properties = build_schema(function)["properties"]
				self.assertEqual(properties["day"]["description"], "The day, not later than today")
				self.assertEqual(properties["shops"]["description"], "Which: all if empty")
		self.assertEqual(describe_function(echo), "")


class TestConversion(unittest.TestCase):
	def test_dates_and_decimals_are_converted(self):
		result = call_function(take_days, {"day": "2026-01-02", "at": "2026-01-02 10:00:00", "price": 1.10})
		self.assertEqual(result, [date(2026, 1, 2), datetime(2026, 1, 2, 10), Decimal("1.1"), None])

	def test_enums_dataclasses_typed_dicts_and_models_are_converted(self):
		self.assertEqual(call_function(take_choices, {"color": "red"}), [Color.RED, Color.BLUE, None])
		values = {"point": {"x": 1}, "lines": [{"day": "2026-01-02"}], "person": {"name": "A"}}
		result = call_function(take_structures, values)
		self.assertEqual(result, [Point(1), [{"day": date(2026, 1, 2)}], Person(name="A")])

	def test_lists_become_sets_and_tuples(self):
		result = call_function(take_collections, {"tags": ["a", "a"], "pair": [2, "b"]})
		self.assertEqual(result, [{"a"}, (2, "b"), ()])

	def test_wrong_values_are_listed_together_and_refused(self):
		with self.assertRaisesRegex(ToolError, "day: .*valid date.*; at: .*was not run"):
			call_function(take_days, {"day": "tomorrow", "at": "noon"})
		with self.assertRaisesRegex(ToolError, "day: "):
			check_function_call(take_days, {"day": "tomorrow", "at": "2026-01-02 10:00:00"})

	def test_a_number_without_fraction_is_passed_as_an_integer(self):
		_, n = call_function(take_numbers, {"counts": {}, "n": 5.0})
		self.assertIsInstance(n, int)

	def test_any_parameter_name_can_be_used(self):
		values = {"function": 1, "arguments": 2, "self": 3, "tool": 4, "context": 5}
		self.assertEqual(call_function(echo, values), values)
