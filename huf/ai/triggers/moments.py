"""Dates and times in the conditions and prompts of triggers.

Forms send them as text, programs and the database as objects. Here they are objects that can also be used
as text: `doc.date < now.date()` and `doc.date < "2026-01-01"` both work, however the document was saved.
So do `doc.time < now.time()` and `doc.time < "12:00:00"`.
"""

from datetime import date, datetime, time, timedelta
from typing import Any

from frappe.utils import get_datetime

TYPES = {"Date", "Datetime", "Time"}
MIDNIGHT = datetime(1970, 1, 1)
ADVICE = "a date is compared with now.date(), a time of day with now.time(), a date and time with now"
COMPARISONS = ("__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__")


def parse_moments(values: dict, meta) -> None:
	"""Replace text of dates and times in a document's or row's values by objects."""
	types = {df.fieldname: df.fieldtype for df in meta.fields if df.fieldtype in TYPES}
	for name, fieldtype in {"creation": "Datetime", "modified": "Datetime", **types}.items():
		if name in values:
			values[name] = parse_moment(values[name], fieldtype)


def parse_moment(value: Any, fieldtype: str) -> Any:
	"""Text of a date or time as an object; any other value, which the database may refuse, as it is.

	Times are durations since midnight, as MariaDB returns them; PostgreSQL returns a `time`.
	"""
	if fieldtype == "Time" and isinstance(value, time):
		value = str(value)
	if not value or not isinstance(value, str) or fieldtype not in TYPES:
		return value
	try:
		moment = get_datetime(f"{MIDNIGHT:%Y-%m-%d} {value}" if fieldtype == "Time" else value)
	except (ValueError, OverflowError, TypeError):
		return value
	if not moment:  # 0000-00-00
		return value
	if fieldtype == "Time":
		return moment.replace(tzinfo=None) - MIDNIGHT
	return moment.date() if fieldtype == "Date" else moment


class AsText:
	"""Mixin for a date or time that can be compared with text, indexed and searched like text, and has the
	methods of text. Stored conditions may rely on that: earlier versions passed the text that forms send.
	"""

	def __getitem__(self, key):
		return str(self)[key]

	def __len__(self):
		return len(str(self))

	def __contains__(self, part):
		return part in str(self)

	def __getattr__(self, name):
		if name.startswith("_"):
			raise AttributeError(name)
		return getattr(str(self), name)


def find_kind(moment: Any) -> type | None:
	return next((kind for kind in (datetime, date, timedelta) if isinstance(moment, kind)), None)


def make_comparison(name: str):
	"""The operator `name`, which compares as text with text, else as the date or time."""

	def compare(self, other):
		if isinstance(other, time):
			other = datetime.combine(MIDNIGHT, other) - MIDNIGHT
		if find_kind(other) not in (None, find_kind(self)):
			if name in ("__eq__", "__ne__"):
				return NotImplemented
			# A day is neither before nor after a time of that day.
			raise TypeError(ADVICE)
		return getattr(str(self) if isinstance(other, str) else super(AsText, self), name)(other)

	return compare


for comparison in COMPARISONS:
	setattr(AsText, comparison, make_comparison(comparison))


class DateAsText(AsText, date):
	pass


class DatetimeAsText(AsText, datetime):
	pass


class TimeAsText(AsText, timedelta):
	def __bool__(self):
		return True  # midnight is a time, too

	def __str__(self):
		text = super().__str__()
		return f"0{text}" if text[1] == ":" else text


# Errors of conditions name these.
DateAsText.__name__, DatetimeAsText.__name__, TimeAsText.__name__ = "date", "datetime", "time"


def wrap_moment(value: Any) -> Any:
	"""A date or time that can be used as text; any other value as it is."""
	if isinstance(value, datetime):
		return DatetimeAsText.combine(value, value.timetz())
	if isinstance(value, date):
		return DateAsText.fromordinal(value.toordinal())
	return TimeAsText(seconds=value.total_seconds()) if isinstance(value, timedelta) else value
