"""Checks the types of a document's values, which Frappe does only after `validate`, or not at all."""

from collections.abc import Mapping
from typing import Any

import frappe
from frappe import _
from frappe.utils import flt, get_datetime

NUMBERS = ("Int", "Float", "Currency", "Percent")
MAX_INT = 2**31 - 1
"""Of a database's integer. Frappe does not check it in DocTypes with a single record."""


def check_field_values(doc: Any, maximums: Mapping[str, int] | None = None) -> None:
	"""Throw for a value that is not one of the choices, no number, too large or no time.

	`maximums`: of the Int fields whose maximum is not MAX_INT. Frappe stores 0 for a number that it cannot
	read, which in a limit means no limit.
	"""
	for field in doc.meta.fields:
		value = doc.get(field.fieldname)
		if value in (None, ""):
			continue
		message = describe_wrong_value(field, value, (maximums or {}).get(field.fieldname, MAX_INT))
		if message:
			frappe.throw(message.format(_(field.label), value))


def describe_wrong_value(field: Any, value: Any, limit: int) -> str | None:
	if field.fieldtype in NUMBERS and not is_number(value):
		return _("{0} must be a number.")
	if field.fieldtype == "Int" and abs(flt(value)) > limit:
		return _("{0} can be at most {1}.").replace("{1}", str(limit))
	if field.fieldtype == "Datetime" and not is_time(value):
		return _("{0} must be a date and time, such as 2026-11-22 09:00.")
	if field.fieldtype == "Select" and field.options and str(value).strip() not in field.options.split("\n"):
		choices = ", ".join(filter(None, field.options.split("\n")))
		return _("{0} cannot be {1}. Choose one of: {2}.").replace("{2}", choices)
	return None


def is_number(value: Any) -> bool:
	try:
		float(str(value).replace(",", ""))
	except ValueError:
		return value in (True, False)
	return True


def is_time(value: Any) -> bool:
	try:
		get_datetime(value)
	except (ValueError, OverflowError, TypeError):
		return False
	return True
