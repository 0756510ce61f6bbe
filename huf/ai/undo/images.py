"""Compares images of a document. Pure.

An image of a document has its stored values as JSON: {"docstatus", "owner", "creation", "fields": {fieldname:
value}, "rows": {table field: {row name: {"idx", fieldname: value ...}}}}. A difference has the same keys, but
only what differs; a row that is missing on one side is None there. The stored state before a change of an
AUTHORED record also has "modified_by". Credentials are in no image.
"""

from collections.abc import Iterable, Mapping


def split_difference(before: Mapping, after: Mapping) -> tuple[dict, dict]:
	"""What differs between two images of a document: (before, after); both empty if nothing does."""
	left, right = {}, {}
	if before["docstatus"] != after["docstatus"]:
		left["docstatus"], right["docstatus"] = before["docstatus"], after["docstatus"]
	was, now = split_values(before["fields"], after["fields"])
	if was:
		left["fields"], right["fields"] = was, now
	for table in dict.fromkeys([*before["rows"], *after["rows"]]):
		was, now = before["rows"].get(table, {}), after["rows"].get(table, {})
		for name in differing(was, now):
			rows = split_row(was.get(name), now.get(name))
			left.setdefault("rows", {}).setdefault(table, {})[name] = rows[0]
			right.setdefault("rows", {}).setdefault(table, {})[name] = rows[1]
	return left, right


def split_row(was: Mapping | None, now: Mapping | None) -> tuple[Mapping | None, Mapping | None]:
	return (was, now) if was is None or now is None else split_values(was, now)


def split_values(was: Mapping, now: Mapping) -> tuple[dict, dict]:
	"""The values in which two mappings differ: as they were, as they are."""
	keys = differing(was, now)
	return pick(was, keys), pick(now, keys)


def differing(before: Mapping, after: Mapping) -> list[str]:
	"""The fields whose values differ, in the order of `before`."""
	keys = dict.fromkeys([*before, *after])
	return [key for key in keys if before.get(key) != after.get(key)]


def pick(values: Mapping, keys: Iterable[str]) -> dict:
	"""The values under these keys; None for those that are missing."""
	return {key: values.get(key) for key in keys}


def without_place(row: Mapping) -> dict:
	return {name: value for name, value in row.items() if name != "idx"}
