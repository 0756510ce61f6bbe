"""Values of documents: lines of a text field; a check of their types, which Frappe makes only after
`validate`, or not at all.
"""

import math
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import date
from typing import Any

import frappe
from frappe import _
from frappe.utils import flt, get_datetime, getdate

from huf.ai.core.errors import UsageError

NUMBERS = ("Int", "Float", "Currency", "Percent")
TEXTS = ("Data", "Small Text", "Text", "Long Text", "Code", "Text Editor", "Password")
ISO_TIME = re.compile(r"\d{4}([-/]?)\d{1,2}\1\d{1,2}([ T]\d{1,2}:\d{1,2}(:\d{1,2}(\.\d{1,6})?)?)?", re.ASCII)
"""Frappe reads dates in words as well, which a database then refuses."""
GROUPED = re.compile(r"[+-]?[1-9]\d{0,2}(,\d{3})+(\.\d*)?")
MAX_INT = 2**31 - 1
"""The largest integer in a database. Frappe does not check it in DocTypes with a single record."""
MAX_DECIMAL = 10**12 - 1
"""The largest decimal in a database."""


def split_lines(text: str | None) -> list[str]:
	"""The lines of a text field that lists something, without spaces around them and blank lines."""
	return list(filter(None, map(str.strip, (text or "").splitlines())))


@contextmanager
def throwing(kind: type[Exception] | tuple[type[Exception], ...] = UsageError) -> Iterator[None]:
	"""Refuse a form with the text of an error of this kind in the block."""
	try:
		yield
	except kind as error:
		frappe.throw(str(error))


def check_field_values(doc: Any, maximums: Mapping[str, int] | None = None) -> None:
	"""Throw for a value that is not one of the choices, no number, too large or no time.

	`maximums`: of the Int fields whose maximum is not MAX_INT. Frappe stores 0 for a number that it cannot
	read, which in a limit means no limit. A number in a text field becomes text.
	"""
	for field in doc.meta.fields:
		value = doc.get(field.fieldname)
		if value in (None, ""):
			continue
		if field.fieldtype in TEXTS and isinstance(value, int | float):
			doc.set(field.fieldname, str(value))
		message = describe_wrong_value(field, value, (maximums or {}).get(field.fieldname, MAX_INT))
		if message:
			frappe.throw(message.format(_(field.label), value))


def describe_wrong_value(field: Any, value: Any, limit: int) -> str | None:
	if field.fieldtype in NUMBERS and not is_number(value):
		return _("{0} must be a number.")
	maximum = limit if field.fieldtype == "Int" else MAX_DECIMAL
	if field.fieldtype in NUMBERS and abs(flt(value)) > maximum:
		return _("{0} can be at most {1}.").replace("{1}", str(maximum))
	if field.fieldtype == "Datetime" and not is_date_or_time(value, get_datetime):
		return _("{0} must be a date and time, such as 2026-11-22 09:00.")
	if field.fieldtype == "Date" and not is_date_or_time(value, getdate):
		return _("{0} must be a date, such as 2026-11-22.")
	if field.fieldtype == "Select" and field.options and str(value).strip() not in field.options.split("\n"):
		choices = ", ".join(filter(None, field.options.split("\n")))
		return _("{0} cannot be {1}. Choose one of: {2}.").replace("{2}", choices)
	return None


def is_number(value: Any) -> bool:
	"""Frappe leaves out commas: of 0,50 it makes 50."""
	text = str(value)
	if "," in text and not GROUPED.fullmatch(text):
		return False
	try:
		return math.isfinite(float(text.replace(",", "")))
	except ValueError:
		return value in (True, False)


def is_date_or_time(value: Any, parse: Callable[[Any], Any]) -> bool:
	"""Whether a value is a date or time without a time zone, as Frappe stores it."""
	if not isinstance(value, date) and not (isinstance(value, str) and ISO_TIME.fullmatch(value.strip())):
		return False
	try:
		moment = parse(value)
	except (ValueError, OverflowError, TypeError, frappe.ValidationError):
		return False
	return moment is not None and getattr(moment, "tzinfo", None) is None
