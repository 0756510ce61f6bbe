"""Renders Jinja templates written by users, within limits of time and size, the same on every runtime.

Jinja's sandbox decides what a template may reach, and bounds no work. Here operators, calls, filters, loops
and output pass through the `Limits` of expressions.
"""

import functools
import json
import re
from collections.abc import Callable, Iterable, Iterator, Sized
from typing import Any

import frappe
from frappe.utils import cint, cstr, escape_html, flt, format_date, format_datetime, get_url, nowdate
from jinja2 import nodes
from jinja2.sandbox import SandboxedEnvironment
from jinja2.visitor import NodeTransformer

from huf.ai.core.expressions import (
	MAX_CHARS,
	MAX_DIGITS,
	METHODS,
	Limits,
	check_number,
	check_replacement,
	check_time_formats,
	measure,
	require,
)

MAX_TEMPLATE_CHARS = 50_000
MAX_OUTPUT_CHARS = 2_000_000
MAX_NUMBER = 1_000
"""Limit for a width, an indentation or a count that is passed to a filter."""
MAX_SIZE = 100_000
"""Limit for the characters or items that a filter parses, sorts or searches in one step."""
TEMPLATE_METHODS = {
	**METHODS,
	list: METHODS[list] | {"append", "extend"},
	dict: METHODS[dict] | {"update"},
}
TAG = re.compile(r"<[^<>]*>")
LANGUAGE = re.compile(r"[A-Za-z]+([-_][A-Za-z0-9]+)*")
WIDENING = {"batch", "center", "indent", "json", "slice", "tojson"}
JOINING = {"indent", "join", "wordwrap"}
TIME_FILTERS = {"format_date", "format_datetime"}
PARSING = TIME_FILTERS | {"title", "wordwrap"}
SORTING = {"dictsort", "groupby", "max", "min", "sort", "unique"}
SEARCHING = {"reject", "rejectattr", "select", "selectattr"}


def strip_tags(text: Any) -> str:
	return TAG.sub("", cstr(text)).strip()


def translate_text(text: str, lang: str | None = None, context: str | None = None) -> str:
	"""Frappe's `_` for language codes only: Frappe builds a file's path from the code."""
	if lang and not LANGUAGE.fullmatch(lang):
		raise ValueError(f"{lang!r} is not a language")
	return frappe._(text, lang, context)


FILTERS: dict[str, Callable] = {
	"cint": cint,
	"cstr": cstr,
	"escape_html": escape_html,
	"flt": flt,
	"format_date": format_date,
	"format_datetime": format_datetime,
	"json": functools.partial(json.dumps, indent=1, default=str),
	"len": len,
	"str": cstr,
	"strip_html": strip_tags,
	"striptags": strip_tags,
}
UNBOUNDED = ("pprint", "urlize")
"""Filters of Jinja that no check of their arguments bounds."""


def render_template(template: str, names: dict) -> str:
	"""The rendered text. Raises TooMuchWork, and whatever Jinja and the template raise."""
	require(len(template) <= MAX_TEMPLATE_CHARS, f"it is longer than {MAX_TEMPLATE_CHARS:,} characters")
	environment = BoundedEnvironment()
	compiled = environment.from_string(template)
	environment.limits = Limits(methods=TEMPLATE_METHODS)
	return compiled.render(names)


class BoundedEnvironment(SandboxedEnvironment):
	"""An environment for one rendering: its limits count."""

	intercepted_binops = frozenset(("+", "-", "*", "/", "//", "%", "**"))

	def __init__(self) -> None:
		super().__init__(autoescape=False)
		self.limits = Limits(methods=TEMPLATE_METHODS)
		self.output_chars = 0
		self.concat = self.join_output  # type: ignore[method-assign]
		del self.globals["lipsum"]
		self.globals.update(_=translate_text, nowdate=nowdate, get_url=get_url)
		filters = {name: each for name, each in {**self.filters, **FILTERS}.items() if name not in UNBOUNDED}
		self.filters = {name: self.bound_filter(name, each) for name, each in filters.items()}
		self.filters["limited"] = lambda value: self.limits.limit(value)
		self.filters["limited_loop"] = lambda values: self.limits.loop(values)

	def _parse(self, source: str, name: str | None, filename: str | None) -> nodes.Template:
		return BoundedTemplate(self).visit(super()._parse(source, name, filename))

	def call(__self, __context: Any, __obj: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: N805 (as Jinja has it)
		limits = __self.limits
		args = limits.check_call(__obj, args, kwargs)
		result = super().call(__context, __obj, *args, **kwargs)
		owner = getattr(__obj, "__self__", None)
		if isinstance(owner, list | dict):  # the call may have made it larger
			limits.limit(owner)
		return limits.limit(result)

	def wrap_str_format(self, value: Any) -> None:
		"""`format` of a text stays a method, which the limits refuse: its widths have no bound."""

	def call_binop(self, context: Any, operator: str, left: Any, right: Any) -> Any:
		own = {"*": self.limits.multiply, "**": self.limits.power, "%": self.limits.modulo}.get(operator)
		return own(left, right) if own else self.limits.limit(self.binop_table[operator](left, right))

	def join_output(self, parts: Iterable[str]) -> str:
		"""The text of a template, a macro or a block."""
		kept = []
		for part in parts:
			self.output_chars += len(part)
			require(
				self.output_chars <= MAX_OUTPUT_CHARS, f"its text exceeds {MAX_OUTPUT_CHARS:,} characters"
			)
			kept.append(part)
		return "".join(kept)

	def bound_filter(self, name: str, function: Callable) -> Callable:
		"""The filter with its arguments checked and its result measured; Jinja's marks stay on it."""
		passes = 1 if getattr(function, "jinja_pass_arg", None) else 0

		@functools.wraps(function)
		def limited(*arguments: Any, **options: Any) -> Any:
			passed, (value, *rest) = arguments[:passes], arguments[passes:]
			if isinstance(value, Iterator):
				value = self.limits.limit(list(self.limits.loop(value)))
			self.check_filter(name, value, (*rest, *options.values()))
			result = function(*passed, value, *rest, **options)
			return self.limits.loop(result) if isinstance(result, Iterator) else self.limits.limit(result)

		return limited

	def check_filter(self, name: str, value: Any, arguments: tuple) -> None:
		if name == "format":
			self.limits.modulo(cstr(value), arguments)
		elif name == "replace":
			check_replacement(cstr(value), *arguments[:2])
		elif name == "round":
			check_number(arguments, MAX_DIGITS)
		elif name == "sum":
			require(not any(isinstance(each, list | tuple) for each in arguments), "sum adds numbers only")
		if name in TIME_FILTERS:
			check_time_formats(arguments)
		if name in PARSING | SORTING | SEARCHING:
			require(not isinstance(value, Sized) or len(value) <= MAX_SIZE, "a value is too long")
		if name in WIDENING:
			check_number(arguments, MAX_NUMBER)
		if name in WIDENING | JOINING:
			require(measure_product(value, arguments) <= MAX_CHARS, "its values are too large")


def measure_product(value: Any, arguments: tuple) -> int:
	"""The longest result if each item or character of a value gets the largest of the arguments."""
	sizes = [
		len(each) if isinstance(each, str) else each for each in arguments if isinstance(each, str | int)
	]
	items, chars = measure(value)
	return max(sizes, default=0) * (items + chars)


class BoundedTemplate(NodeTransformer):
	"""Sends what can be large through filters, which no template can replace."""

	def __init__(self, environment: BoundedEnvironment):
		self.environment = environment

	def visit_For(self, node: nodes.For) -> nodes.Node:
		self.generic_visit(node)
		node.iter = self.apply(node.iter, "limited_loop")
		return node

	def limit_value(self, node: nodes.Expr) -> nodes.Node:
		self.generic_visit(node)
		is_target = isinstance(node, nodes.Tuple) and node.ctx != "load"
		return node if is_target else self.apply(node, "limited")

	visit_Compare = visit_Concat = visit_Dict = visit_List = visit_Test = visit_Tuple = limit_value

	def apply(self, value: nodes.Node, name: str) -> nodes.Filter:
		arguments: tuple = (name, [], [], None, None)
		return nodes.Filter(value, *arguments, lineno=value.lineno, environment=self.environment)
