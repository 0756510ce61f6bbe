"""One document of a pack on this site: checked, found, made, and brought up to what the pack gives now. Does not commit."""

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from copy import deepcopy

import frappe

from huf.ai.core.errors import UsageError
from huf.ai.core.yaml_lines import LineMapping
from huf.ai.packs.manifest import Entry
from huf.ai.packs.merging import Digests, Merged, Parts, digest_of, keep_digests, merge, take_apart

IN_FORMAT = re.compile(r"\{(\w+)\}")
NOT_COMPARED = {"Password"}


def check_entry(entry: Entry) -> None:
	"""Raises UsageError for fields that its DocType does not have; of a DocType that the pack brings, nobody knows yet."""
	if not frappe.db.exists("DocType", entry.doctype):
		return
	meta = frappe.get_meta(entry.doctype)
	for name in entry.values:
		if name not in ("name", "doctype") and not meta.has_field(name) and name not in standing(entry):
			line = entry.values.lines.get(name) if isinstance(entry.values, LineMapping) else None
			place = re.sub(r"\d+$", str(line), entry.place) if line else entry.place
			raise UsageError(f"{place}: {entry.doctype} has no field {name!r}.")


def standing(entry: Entry) -> tuple[str, ...]:
	"""What a DocType's own JSON has beside its fields on the embedded home."""
	return ("doctype", "actions", "links", "states") if entry.doctype == "DocType" else ()


def name_of(entry: Entry) -> str | None:
	"""The name that a document has or will have; None where only the site can say."""
	if "name" in entry.values:
		return entry.values["name"]
	rule = frappe.get_meta(entry.doctype).autoname or ""
	kind, _, what = rule.partition(":")
	if kind == "field":
		return entry.values.get(what)
	names = IN_FORMAT.findall(what) if kind == "format" else ()
	if names and all(entry.values.get(each) for each in names):
		return IN_FORMAT.sub(lambda found: str(entry.values[found[1]]), what)
	return None


def key_of(entry: Entry) -> str:
	"""What the pack knows it by: its name, else all that it says."""
	return name_of(entry) or digest_of(entry.values)


def make(entry: Entry):
	"""Insert it; gives the document. Raises UsageError with the place of what the site refuses."""
	# A copy: Frappe writes into the rows it is given.
	values = deepcopy({"doctype": entry.doctype, **entry.values, **(entry.at_first or {})})
	with refused_at(entry):
		doc = frappe.get_doc(values)
		given = entry.values.get("name") if entry.doctype != "DocType" else None
		return doc.insert(set_name=given) if given else doc.insert()


@contextmanager
def refused_at(entry: Entry) -> Iterator[None]:
	"""What the site refuses is told with the entry's place."""
	try:
		yield
	except (frappe.ValidationError, frappe.DoesNotExistError) as error:
		raise UsageError(f"{entry.place} ({entry.doctype}): {error}") from error


def given_parts(entry: Entry) -> Parts:
	return take_apart(entry.doctype, {k: v for k, v in entry.values.items() if k not in ("name", "doctype")})


def stored_parts(doctype: str, name: str, parts: Iterable[str]) -> Parts:
	"""The parts as they are stored; those of secrets are not looked at."""
	doc = frappe.get_doc(doctype, name)
	fields = dict.fromkeys(part.partition("[")[0] for part in parts)
	secret = {df.fieldname for df in doc.meta.fields if df.fieldtype in NOT_COMPARED}
	values = {each: plain_value(doc.get(each)) for each in fields if each not in secret}
	return take_apart(doctype, values)


def plain_value(value):
	return [row.as_dict() for row in value] if isinstance(value, list) else value


def first_digests(entry: Entry, name: str) -> Digests:
	given = given_parts(entry)
	return keep_digests({}, given, stored_parts(entry.doctype, name, given))


def bring_up(entry: Entry, name: str, kept: Digests) -> tuple[Merged, Digests]:
	"""Write what the pack gives anew; a person's edits stay. Saves only where something is another."""
	given = given_parts(entry)
	merged = merge(kept, given, stored_parts(entry.doctype, name, [*given, *kept]))
	if merged.changes:
		with refused_at(entry):
			doc = frappe.get_doc(entry.doctype, name)
			write(doc, deepcopy(merged.changes))
			doc.save()
	stored = stored_parts(entry.doctype, name, given)
	return merged, keep_digests(kept, given, stored, merged.edited)


def write(doc, changes: Parts) -> None:
	for part, value in changes.items():
		table, is_row, _ = part.partition("[")
		if is_row:
			write_row(doc, table, part, value)
		else:
			doc.set(table, value)


def write_row(doc, table: str, part: str, value: dict | None) -> None:
	"""Change, add or (None) take away the row of that key."""
	row = next(
		(row for row in doc.get(table) if part in take_apart(doc.doctype, {table: [row.as_dict()]})), None
	)
	if value is None:
		if row:
			doc.remove(row)
	elif row:
		row.update(value)
	else:
		doc.append(table, value)


def is_edited(doctype: str, name: str, kept: Digests) -> bool:
	"""Whether a person has changed what the pack gave."""
	given = dict.fromkeys(kept)
	merged = merge(kept, {}, stored_parts(doctype, name, given))
	return bool(merged.edited)
