"""Naming of documents."""

import base64
import re
import secrets

import frappe
from frappe.utils.data import cint, cstr, now_datetime

BRACED = re.compile(r"\{[\w#]+\}")
MOMENTS = {"YY": "%y", "YYYY": "%Y", "MM": "%m", "DD": "%d", "WW": "%V"}


def set_new_name(doc):
	"""Name a document by the controller's `autoname` method, else by the DocType's rule, else at random."""
	doc.run_method("before_naming")
	meta = doc.meta
	rule = meta.autoname or ""
	if rule.lower() != "prompt":
		doc.name = None
	if meta.issingle:
		doc.name = doc.doctype
	elif doc.get("amended_from"):
		doc.name = amended_name(doc)
	else:
		doc.run_method("autoname")
		if not doc.name and rule:
			doc.name = name_by_rule(rule, doc)
	doc.name = validate_name(doc.doctype, doc.name or random_name())


def name_by_rule(rule: str, doc) -> str | None:
	kind, _colon, detail = rule.partition(":")
	kind = kind.lower()
	if kind == "field":
		name = cstr(doc.get(detail)).strip()
		if not name:
			frappe.throw(frappe._("{0} is required").format(doc.meta.get_label(detail)))
		return name
	if kind == "naming_series":
		return series_name(doc)
	if kind == "prompt":
		if not doc.name:
			frappe.throw(frappe._("Please set the document name"))
		return doc.name
	if kind == "format":
		return format_name(detail, doc)
	if kind == "autoincrement":
		frappe.throw("autoname autoincrement is not part of embedded mode: use hash or a series")
	return make_autoname(rule, doc=doc) if "#" in rule else None


def random_name() -> str:
	return base64.b32hexencode(secrets.token_bytes(10)).decode()[:10].lower()


def make_autoname(key: str = "", doctype: str = "", doc="", *, ignore_validate=False) -> str:
	"""The next name of a series such as "ORD-.YYYY.-.####"; "hash" makes a random one."""
	if key == "hash":
		return random_name()
	if "#" not in key:
		key += ".#####"
	return parse_naming_series(key.split("."), doc=doc)


def parse_naming_series(parts, doctype=None, doc=None, number_generator=None) -> str:
	"""Fill in fields and parts of the date. The first # part is a counter for the text before it."""
	name, counted = "", False
	for part in parts.split(".") if isinstance(parts, str) else parts:
		if part.startswith("#"):
			if not counted:
				name += (number_generator or getseries)(name, len(part))
				counted = True
		elif part in MOMENTS:
			name += now_datetime().strftime(MOMENTS[part])
		elif part == "timestamp":
			name += str(now_datetime())
		elif part and doc and (part.startswith("{") or doc.get(part) is not None):
			name += cstr(doc.get(part.strip("{}"))).strip()
		else:
			name += part
	return name


def series_name(doc) -> str:
	if not doc.get("naming_series"):
		options = (doc.meta.get_field("naming_series") or {}).get("options") or ""
		doc.naming_series = next((option for option in options.split("\n") if option), None)
	if not doc.naming_series:
		frappe.throw(frappe._("Naming Series mandatory"))
	return make_autoname(f"{doc.naming_series}.#####", doc=doc)


def format_name(pattern: str, doc) -> str:
	"""Fill in `{field}`, `{YYYY}` and `{####}`, the counter for the text before it."""
	name, start = "", 0
	for found in BRACED.finditer(pattern):
		name += pattern[start : found.start()]
		start = found.end()
		part = found.group()[1:-1]
		name += getseries(name, len(part)) if part.startswith("#") else parse_naming_series([part], doc=doc)
	return name + pattern[start:]


def getseries(key: str, digits: int) -> str:
	"""The next number of a counter, in one statement: two transactions never get the same."""
	row = frappe.db.execute(
		"INSERT INTO `tabSeries` VALUES (?, 1)"
		" ON CONFLICT DO UPDATE SET current = current + 1 RETURNING current",
		(key,),
	).fetchall()
	return str(row[0][0]).zfill(digits)


class NamingSeries:
	"""The counter of a series such as "ORD-.YYYY.-.####"."""

	def __init__(self, series: str):
		self.series = series if "#" in series else f"{series}.#####"

	def get_prefix(self) -> str:
		"""The text before the number, with the date of today."""
		return parse_naming_series(self.series.partition(".#")[0])

	def get_current_value(self) -> int:
		row = frappe.db.execute(
			"SELECT current FROM `tabSeries` WHERE name = ?", (self.get_prefix(),)
		).fetchone()
		return row[0] if row else 0

	def update_counter(self, new_count: int) -> None:
		frappe.db.execute(
			"INSERT INTO `tabSeries` VALUES (?, ?) ON CONFLICT DO UPDATE SET current = excluded.current",
			(self.get_prefix(), cint(new_count)),
		)


def revert_series_if_last(key: str, name: str, doc=None):
	"""Decrement the counter if the deleted document had the last number."""
	prefix = parse_naming_series(key.partition(".#")[0], doc=doc)
	number = cint(name[len(prefix) :]) if name.startswith(prefix) else 0
	if number:
		frappe.db.execute(
			"UPDATE `tabSeries` SET current = current - 1 WHERE name = ? AND current = ?", (prefix, number)
		)


def amended_name(doc) -> str:
	"""ORD-1 becomes ORD-1-1, then ORD-1-2."""
	stem, number = doc.amended_from, 1
	if frappe.db.get_value(doc.doctype, doc.amended_from, "amended_from"):
		stem, _dash, last = doc.amended_from.rpartition("-")
		number = cint(last) + 1
	return f"{stem}-{number}"


def validate_name(doctype: str, name) -> str:
	"""The name without surrounding spaces. Raises frappe.NameError for a forbidden one."""
	if not name:
		frappe.throw(frappe._("No Name Specified for {0}").format(doctype))
	if isinstance(name, int):
		frappe.throw(frappe._("Invalid name type (integer) for varchar name column"), frappe.NameError)
	if name.startswith(f"New {doctype}"):
		message = frappe._("There were some errors setting the name, please contact the administrator")
		frappe.throw(message, frappe.NameError)
	name = name.strip()
	if name == doctype != "DocType" and not frappe.get_meta(doctype).issingle:
		frappe.throw(frappe._("Name of {0} cannot be {1}").format(doctype, name), frappe.NameError)
	if "<" in name or ">" in name:
		message = frappe._("Name cannot contain special characters like {0}").format("'<', '>'")
		frappe.throw(message, frappe.NameError)
	return name
