"""JSON as Frappe writes and reads it."""

import datetime
import json
from collections.abc import Iterable
from decimal import Decimal


def as_json(obj, indent=1, separators=None, ensure_ascii=True) -> str:
	"""Keys sorted, dates as text, documents as dicts."""
	options = dict(
		indent=indent, separators=separators or (",", ": "), default=json_handler, ensure_ascii=ensure_ascii
	)
	try:
		return json.dumps(obj, sort_keys=True, **options)
	except TypeError:  # keys of different types cannot be compared
		return json.dumps(dict(sorted(obj.items(), key=lambda item: str(item[0]))), **options)


def parse_json(val):
	"""Parse text; anything else is returned as it is. Raises ValueError, also for JSON nested too deeply."""
	if isinstance(val, str):
		try:
			val = json.loads(val)
		except RecursionError:
			raise ValueError("The JSON is nested too deeply.") from None
	if isinstance(val, dict):
		from frappe.types import _dict

		val = _dict(val)
	return val


def json_handler(obj):
	"""The `default` function of json.dumps."""
	if isinstance(obj, datetime.datetime | datetime.date | datetime.time | datetime.timedelta):
		return str(obj)
	if isinstance(obj, Decimal):
		return float(obj)
	if hasattr(obj, "as_dict"):
		return obj.as_dict(no_nulls=True)
	if isinstance(obj, bytes):
		return obj.decode("utf-8")
	if isinstance(obj, Iterable):
		return list(obj)
	if isinstance(obj, type) and issubclass(obj, Exception):
		return obj.__name__
	if callable(obj) or isinstance(obj, type):
		return repr(obj)
	raise TypeError(f"Object of type {type(obj).__name__} is not JSON serializable")
