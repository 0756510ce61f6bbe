"""The four-eyes rule of a tool: somebody other than the run's user must approve its calls."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl

import frappe

from huf.ai.core.contacts import list_urls

NAMES = ("name", "names")
"""Arguments that name existing documents."""


@dataclass(frozen=True)
class SecondPerson:
	"""`amount_field`: restricts the rule to calls in which this field, of the arguments or of a document they
	name, exceeds `above`.
	"""

	amount_field: str = ""
	above: float = 0
	doctype: str | None = None

	def is_needed(self, arguments: dict, changes: Iterable[dict] = ()) -> bool:
		"""Whether one of the amounts is above the limit, or none is known. `changes`: what the call's dry run
		showed, with totals that its documents compute.
		"""
		amounts = [*self.list_amounts(arguments), *self.list_new_amounts(changes)]
		return not amounts or any(map(self.is_above, amounts))

	def is_exceeded(self, arguments: dict) -> bool:
		"""Whether a call needs a second person whatever its dry run shows."""
		return not self.amount_field or any(map(self.is_above, self.list_amounts(arguments)))

	def list_amounts(self, arguments: dict) -> list:
		"""The amounts in the arguments and of the documents that they name."""
		if not self.amount_field:
			return []
		amounts = [*find_values(arguments, (self.amount_field,)), *self.read_stored(arguments)]
		amounts += find_in_queries(list_urls(arguments), self.amount_field)
		if arguments.get("fieldname") == self.amount_field:
			amounts.append(arguments.get("value"))
		return amounts

	def list_new_amounts(self, changes: Iterable[dict]) -> list:
		fields = (
			each
			for change in changes
			if self.doctype in (None, change["doctype"])
			for part in (change, *change["rows"])
			for each in part["fields"]
		)
		new = [each["after"] for each in fields if each["fieldname"] == self.amount_field]
		return [amount for amount in new if amount is not None]

	def read_stored(self, arguments: dict) -> list:
		if not self.doctype or not frappe.get_meta(self.doctype).has_field(self.amount_field):
			return []
		names = [name for name in find_values(arguments, NAMES) if isinstance(name, str)]
		stored = [frappe.db.get_value(self.doctype, name, self.amount_field) for name in names]
		return [each for each in stored if each is not None]

	def is_above(self, amount: Any) -> bool:
		try:
			return not abs(float(amount)) <= self.above
		except (TypeError, ValueError):
			return True


def find_in_queries(urls: Iterable[str], name: str) -> list[str]:
	"""The values of a parameter in the queries of addresses."""
	# A request leaves out tabs and line breaks.
	sent = (re.sub(r"[\t\r\n]", "", url) for url in urls)
	queries = (url.partition("?")[2].partition("#")[0] for url in sent)
	return [value for each in queries for key, value in parse_qsl(each, True) if key == name]


def find_values(value: Any, keys: tuple[str, ...]) -> Iterator[Any]:
	"""The values of these keys at any depth; lists are flattened."""
	if isinstance(value, list):
		for each in value:
			yield from find_values(each, keys)
	elif isinstance(value, dict):
		for key, each in value.items():
			if key in keys:
				yield from each if isinstance(each, list) else [each]
			else:
				yield from find_values(each, keys)


def read_approval_rule(row: Any, slot: Any) -> SecondPerson | None:
	"""The rule of an Agent Tool Function for an agent, whose Agent Tool row may extend it to all calls."""
	if slot.second_person:
		return SecondPerson()
	if row.second_person:
		return SecondPerson(row.amount_field or "", row.amount_above or 0, row.reference_doctype)
	return None
