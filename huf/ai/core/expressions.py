"""Evaluates an expression that a person wrote, within limits of time and size.

Frappe's `safe_eval` decides what an expression may reach, and bounds no work. Before evaluation, operators,
calls, displays and loops are replaced by functions of `Limits`: no single step is large, and all are counted.
"""

import ast
import re
import time
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import frappe

MAX_EXPRESSION_CHARS, MAX_DEPTH = 5_000, 100
MAX_PROCESSOR_S = 0.5
MAX_ITERATIONS = 20_000
MAX_CHARS = 10_000_000
"""Limit for all texts together that one evaluation makes."""
MAX_ITEMS = 1_000_000
MAX_BITS = 4_096
MAX_WIDTH = 1_000
"""Limit for padding by methods such as `zfill` or by %, and for formats of times."""
MAX_DIGITS = 100
"""Limit for the second argument of `round`."""
MAX_FORMATTED_VALUES = 20

TEXT_METHODS = """
	capitalize casefold center count endswith find index isalnum isalpha isdecimal isdigit islower isnumeric
	isspace istitle isupper join ljust lower lstrip partition removeprefix removesuffix replace rfind rindex
	rjust rpartition rsplit rstrip split splitlines startswith strip swapcase title upper zfill
"""
METHODS: dict[type, set[str]] = {
	str: set(TEXT_METHODS.split()),
	bytes: set(),
	int: {"bit_length", "is_integer"},
	float: {"is_integer"},
	list: {"copy", "count", "index"},
	tuple: {"count", "index"},
	dict: {"get", "items", "keys", "values"},
	set: {"difference", "intersection", "isdisjoint", "issubset", "issuperset", "union"},
}
"""What may be called on values of these types: nothing that changes them or whose work is not bounded."""
PADDING = {"center", "ljust", "rjust", "zfill"}
TIME_FORMATTING = {"strftime", "strptime"}
"""A format such as %999d can ask for widths of its own."""
WIDE_SPEC = re.compile(r"\d{4}|\{")
WIDE_PERCENT = re.compile(r"%(?:\([^)]*\)+)?[-#0 +]*(?:\d{0,3}\.)?(?:\d{4}|\*)")


class TooMuchWork(Exception):
	"""An expression exceeded a limit."""


def evaluate_expression(expression: str, names: dict, limits: "Limits | None" = None) -> Any:
	"""The value. Raises SyntaxError for what is not allowed, TooMuchWork, and whatever the expression raises.

	Parts of one condition share `limits`.
	"""
	limits = limits or Limits()
	return frappe.safe_eval(build_bounded_source(expression), {**names, **limits.list_functions()})


def parse_expression(expression: str) -> ast.Expression:
	"""Raises SyntaxError, also for an expression that is too long or nested too deeply to be parsed."""
	if len(expression) > MAX_EXPRESSION_CHARS:
		raise SyntaxError(f"it is longer than {MAX_EXPRESSION_CHARS:,} characters")
	try:
		tree = ast.parse(f"(\n{expression}\n)", mode="eval")
	except (RecursionError, MemoryError, ValueError):
		raise SyntaxError("it is nested too deeply, or has characters that are no text") from None
	if measure_depth(tree) > MAX_DEPTH:
		raise SyntaxError(f"it is nested more than {MAX_DEPTH} levels deep")
	return tree


def measure_depth(tree: ast.AST) -> int:
	"""The levels of a syntax tree. Not recursive: the parser takes deeper trees than its visitors do."""
	level, depth = [tree], 0
	while level:
		level = [child for node in level for child in ast.iter_child_nodes(node)]
		depth += 1
	return depth


@lru_cache(maxsize=1024)
def build_bounded_source(expression: str) -> str:
	source = ast.unparse(ast.fix_missing_locations(Bounded().visit(parse_expression(expression))))
	return "".join(map(escape_unstable, source))


def escape_unstable(char: str) -> str:
	"""A character as `safe_eval` keeps it. It normalizes the source, so in a text a full-width quotation mark
	would become one that ends the text, and what follows would be evaluated without limits.
	"""
	return char if unicodedata.normalize("NFKC", char) == char else f"\\U{ord(char):08x}"


OPERATORS = {
	ast.LShift: "limited_shift",
	ast.Mod: "limited_modulo",
	ast.Mult: "limited_product",
	ast.Pow: "limited_power",
}
FUNCTIONS = {"limited", "limited_call", "limited_loop", *OPERATORS.values()}
"""Names of the functions of `Limits` in an expression."""


class Bounded(ast.NodeTransformer):
	"""Replaces what can be large by calls of the functions of `Limits`."""

	def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
		self.generic_visit(node)
		name = OPERATORS.get(type(node.op))
		return build_call(name, node.left, node.right) if name else build_call("limited", node)

	def visit_Call(self, node: ast.Call) -> ast.AST:
		self.generic_visit(node)
		return ast.Call(ast.Name("limited_call", ast.Load()), [node.func, *node.args], node.keywords)

	def visit_comprehension(self, node: ast.comprehension) -> ast.AST:
		self.generic_visit(node)
		node.iter = build_call("limited_loop", node.iter)
		return node

	def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.AST:
		if len(node.values) > MAX_FORMATTED_VALUES:
			raise SyntaxError(f"a text with more than {MAX_FORMATTED_VALUES} parts is not allowed")
		return self.limit_value(node)

	def visit_FormattedValue(self, node: ast.FormattedValue) -> ast.AST:
		if node.format_spec and WIDE_SPEC.search(ast.unparse(node.format_spec)):
			raise SyntaxError("a format takes numbers of up to three digits, and no values")
		node.value = self.visit(node.value)
		return node

	def visit_Name(self, node: ast.Name) -> ast.AST:
		if node.id in FUNCTIONS:
			# As the target of a loop it would take the place of the function that limits what follows.
			raise SyntaxError(f"the name {node.id} is not allowed")
		return node

	def visit_Starred(self, node: ast.Starred) -> ast.AST:
		raise SyntaxError("* before a value is not allowed")

	def visit_Lambda(self, node: ast.Lambda) -> ast.AST:
		raise SyntaxError("lambda is not allowed")

	def visit_Tuple(self, node: ast.Tuple) -> ast.AST:
		return self.limit_value(node) if isinstance(node.ctx, ast.Load) else self.generic_visit(node)

	def limit_value(self, node: ast.expr) -> ast.AST:
		self.generic_visit(node)
		return build_call("limited", node)

	visit_List = visit_Set = visit_Dict = visit_ListComp = visit_SetComp = visit_DictComp = limit_value


def build_call(name: str, *arguments: ast.expr) -> ast.Call:
	return ast.Call(ast.Name(name, ast.Load()), list(arguments), [])


@dataclass
class Limits:
	"""What one evaluation in this thread may still do. `ends` is a value of `time.thread_time()`."""

	ends: float = field(default_factory=lambda: time.thread_time() + MAX_PROCESSOR_S)
	iterations: int = 0
	items: int = 0
	chars: int = 0
	methods: dict[type, set[str]] = field(default_factory=lambda: METHODS)

	def list_functions(self) -> dict[str, Callable]:
		return {
			"limited": self.limit,
			"limited_call": self.call,
			"limited_loop": self.loop,
			"limited_modulo": self.modulo,
			"limited_power": self.power,
			"limited_product": self.multiply,
			"limited_shift": self.shift,
		}

	def limit(self, value: Any) -> Any:
		self.check_time()
		items, chars = measure(value)
		self.items += items
		self.chars += chars
		require(self.items <= MAX_ITEMS and self.chars <= MAX_CHARS, "its values are too large")
		return value

	def check_time(self) -> None:
		require(time.thread_time() < self.ends, "it takes too long")

	def loop(self, values: Iterable) -> Iterator:
		for value in values:
			self.iterations += 1
			require(self.iterations <= MAX_ITERATIONS, "it has too many iterations")
			self.check_time()
			yield value

	def call(self, function: Callable, *arguments: Any, **options: Any) -> Any:
		return self.limit(function(*self.check_call(function, arguments, options), **options))

	def check_call(self, function: Callable, arguments: tuple, options: dict) -> tuple:
		"""The arguments of a call that may be made."""
		owner, name = getattr(function, "__self__", None), getattr(function, "__name__", "")
		methods = next((methods for kind, methods in self.methods.items() if isinstance(owner, kind)), None)
		if methods is not None and name not in methods:
			raise SyntaxError(f"the method {name} is not allowed")
		if function is round:
			check_number((*arguments[1:], *options.values()), MAX_DIGITS)
		elif isinstance(owner, str) and name in PADDING:
			check_number(arguments, MAX_WIDTH)
		elif name in TIME_FORMATTING:
			check_time_formats((*arguments, *options.values()))
		elif isinstance(owner, str) and name == "replace":
			check_replacement(owner, *arguments)
		elif isinstance(owner, str) and name == "join":
			return (self.limit_joined(owner, *arguments),)
		return arguments

	def limit_joined(self, separator: str, values: Iterable) -> list:
		joined = self.limit(list(values))
		require(len(separator) * len(joined) <= MAX_CHARS, "its values are too large")
		return joined

	def power(self, base: Any, exponent: Any) -> Any:
		if isinstance(base, int) and isinstance(exponent, int):
			require(base.bit_length() * abs(exponent) <= MAX_BITS, "a number is too large")
		return self.limit(base**exponent)

	def multiply(self, left: Any, right: Any) -> Any:
		for value, times in ((left, right), (right, left)):
			if isinstance(value, str | bytes | list | tuple) and isinstance(times, int):
				limit = MAX_CHARS if isinstance(value, str | bytes) else MAX_ITEMS
				require(len(value) * times <= limit, "its values are too large")
		return self.limit(left * right)

	def shift(self, value: Any, places: Any) -> Any:
		check_number([places], MAX_BITS)
		return self.limit(value << places)

	def modulo(self, left: Any, right: Any) -> Any:
		if isinstance(left, str | bytes):
			text = left if isinstance(left, str) else left.decode("latin-1")
			require(len(text) <= MAX_WIDTH and not WIDE_PERCENT.search(text), "a format is too wide")
			require(text.count("%") * measure(right)[1] <= MAX_CHARS, "its values are too large")
		return self.limit(left % right)


def measure(value: Any) -> tuple[int, int]:
	"""(items, characters) of a value. What occurs twice counts twice, as it does in printing."""
	pending, items, chars = [value], 0, 0
	while pending:
		each = pending.pop()
		items += 1
		if isinstance(each, dict):
			pending.extend((*each.keys(), *each.values()))
		elif isinstance(each, list | tuple | set | frozenset):
			pending.extend(each)
		elif isinstance(each, str | bytes):
			chars += len(each)
		elif isinstance(each, int):
			require(each.bit_length() <= MAX_BITS, "a number is too large")
		require(items + len(pending) <= MAX_ITEMS, "its values are too large")
	return items, chars


def require(within: bool, reason: str) -> None:
	if not within:
		raise TooMuchWork(reason)


def check_number(numbers: Iterable, limit: int) -> None:
	require(not any(isinstance(each, int) and abs(each) > limit for each in numbers), "a number is too large")


def check_time_formats(arguments: Iterable) -> None:
	is_long = any(isinstance(each, str) and len(each) > MAX_WIDTH for each in arguments)
	require(not is_long, "a format of times is too long")


def check_replacement(text: str, old: Any = None, new: Any = None, *_count: Any) -> None:
	if isinstance(old, str) and isinstance(new, str):
		require(len(text) + text.count(old) * len(new) <= MAX_CHARS, "its values are too large")
