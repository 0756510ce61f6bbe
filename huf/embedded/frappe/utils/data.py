"""Conversions of numbers, texts, dates and times. Times are naive, in the site's time zone."""

import datetime
import math
import os
import re
import secrets
from functools import cache
from urllib.parse import quote, urljoin
from zoneinfo import ZoneInfo

import frappe

DATE_FORMAT, TIME_FORMAT = "%Y-%m-%d", "%H:%M:%S.%f"
DATETIME_FORMAT = f"{DATE_FORMAT} {TIME_FORMAT}"
MAX_MOMENT_CHARS = 200
"""Limit for a text with a date or time: parsing megabytes takes minutes."""

# --- numbers and texts ---


def cint(s, default: int = 0) -> int:
	try:
		return int(s)
	except (TypeError, ValueError, OverflowError):
		try:
			return int(float(s))
		except (TypeError, ValueError, OverflowError):
			return default


def flt(s, precision: int | None = None) -> float:
	"""A float, 0.0 for anything else; commas are dropped."""
	try:
		number = float(s.replace(",", "") if isinstance(s, str) else s)
	except (TypeError, ValueError, OverflowError):
		return 0.0
	return number if precision is None else rounded(number, precision)


def rounded(num: float, precision: int = 0) -> float:
	"""Round half to even, but half up if there are decimals: Frappe's "Banker's Rounding (legacy)"."""
	precision = cint(precision)
	scale = 10**precision
	scaled = round(num * scale, 8)
	below = math.floor(scaled)
	if scaled - below == 0.5:
		up = precision or below % 2
		whole = below + 1 if up else below
	else:
		whole = round(scaled)
	return whole / scale if precision else whole


def cstr(s, encoding="utf-8") -> str:
	if s is None:
		return ""
	return s.decode(encoding) if isinstance(s, bytes) else str(s)


def sbool(x):
	"""True or False for their usual spellings, else the unchanged value."""
	if isinstance(x, str):
		return {"true": True, "1": True, "false": False, "0": False}.get(x.lower(), x)
	return x


def cast(fieldtype: str, value=None):
	"""The value as the Python type of a field."""
	if fieldtype in ("Currency", "Float", "Percent"):
		return flt(value)
	if fieldtype in ("Int", "Check"):
		return cint(sbool(value))
	if fieldtype == "Date":
		return getdate(value) if value else datetime.date.min
	if fieldtype == "Datetime":
		return get_datetime(value) if value else datetime.datetime.min
	if fieldtype in (
		"Data",
		"Text",
		"Small Text",
		"Long Text",
		"Text Editor",
		"Select",
		"Link",
		"Dynamic Link",
	):
		return cstr(value)
	return value


def generate_hash(txt: str | None = None, length: int = 56) -> str:
	"""Random hexadecimal digits; the text is ignored, as in Frappe."""
	return secrets.token_hex(math.ceil(length / 2))[:length]


def strip_html(text: str) -> str:
	"""Text without anything in angle brackets."""
	end = text.rfind(">") + 1  # after the last ">" the pattern would search in vain from every "<"
	return re.sub(r"<[^>]*>", "", text[:end]) + text[end:]


def escape_html(text: str) -> str:
	from html import escape

	return escape(text).replace("&#x27;", "&apos;") if isinstance(text, str) else text


def is_html(text) -> bool:
	return isinstance(text, str) and bool(re.search(r"<[^>]+>", text[: text.rfind(">") + 1]))


# --- dates and times ---


def now_datetime() -> datetime.datetime:
	"""In the zone of the site's configuration, else of the machine."""
	zone = (getattr(frappe.local, "conf", None) or {}).get("time_zone")
	return datetime.datetime.now(ZoneInfo(zone) if zone else None).replace(tzinfo=None)


def now() -> str:
	return now_datetime().isoformat(sep=" ", timespec="microseconds")


def nowdate() -> str:
	return now_datetime().strftime(DATE_FORMAT)


today = nowdate


def nowtime() -> str:
	return now_datetime().strftime(TIME_FORMAT)


def get_datetime(datetime_str=None) -> datetime.datetime | None:
	"""A datetime: now for None, None for "". Raises ValueError for invalid text."""
	if datetime_str is None:
		return now_datetime()
	if isinstance(datetime_str, (datetime.datetime, datetime.timedelta)):
		return datetime_str
	if isinstance(datetime_str, datetime.date):
		return datetime.datetime.combine(datetime_str, datetime.time())
	if is_empty_date(datetime_str):
		return None
	return parse_text(datetime_str)


def getdate(string_date=None, parse_day_first: bool = False) -> datetime.date | None:
	"""A date; today for empty values. Raises ValidationError for invalid text."""
	if not string_date:
		return now_datetime().date()
	if isinstance(string_date, datetime.datetime):
		return string_date.date()
	if isinstance(string_date, datetime.date):
		return string_date
	if is_empty_date(string_date):
		return None
	try:
		return parse_text(string_date, dayfirst=parse_day_first).date()
	except ValueError:
		message = frappe._("{} is not a valid date string.").format(frappe.bold(string_date))
		frappe.throw(message, title=frappe._("Invalid Date"))


def parse_text(text: str, dayfirst: bool = False) -> datetime.datetime:
	if len(text) > MAX_MOMENT_CHARS:
		raise ValueError(f"A date or time has at most {MAX_MOMENT_CHARS} characters")
	try:
		return datetime.datetime.fromisoformat(text)
	except ValueError:
		from dateutil import parser

		return parser.parse(text, dayfirst=dayfirst)


def is_empty_date(value) -> bool:
	return not isinstance(value, str) or not value or value.startswith(("0001-01-01", "0000-00-00"))


def add_to_date(
	date,
	years=0,
	months=0,
	weeks=0,
	days=0,
	hours=0,
	minutes=0,
	seconds=0,
	as_string=False,
	as_datetime=False,
):
	"""A date, or a datetime if `as_datetime` or the text has a time. Text yields text."""
	if date is None:
		date = now_datetime()
	as_datetime = as_datetime or bool(hours)
	if isinstance(date, str):
		as_string = True
		as_datetime = as_datetime or " " in date
		try:
			date = parse_text(date)
		except ValueError:
			frappe.throw(frappe._("Please select a valid date filter"), title=frappe._("Invalid Date"))
	if whole_months := int(months + 12 * years):
		from dateutil.relativedelta import relativedelta

		date += relativedelta(months=whole_months)
	if (hours or minutes or seconds) and not isinstance(date, datetime.datetime):
		date = get_datetime(date)
	date += datetime.timedelta(weeks=weeks, days=days, hours=hours, minutes=minutes, seconds=seconds)
	if as_string:
		return date.strftime(DATETIME_FORMAT if as_datetime else DATE_FORMAT)
	return date


def add_days(date, days):
	return add_to_date(date, days=cint(days))


def time_diff(string_ed_date, string_st_date) -> datetime.timedelta:
	return get_datetime(string_ed_date) - get_datetime(string_st_date)


def time_diff_in_seconds(string_ed_date, string_st_date) -> float:
	return time_diff(string_ed_date, string_st_date).total_seconds()


def get_datetime_str(datetime_obj) -> str:
	if isinstance(datetime_obj, str):
		datetime_obj = get_datetime(datetime_obj)
	return datetime_obj.strftime(DATETIME_FORMAT)


def format_moment(value: datetime.date, pattern: str) -> str:
	"""By a pattern of Babel's, in the user's language, or in English if Babel does not know that."""
	from babel import UnknownLocaleError
	from babel.dates import format_datetime as format_by_pattern

	try:
		return format_by_pattern(value, pattern, locale=frappe.local.lang.replace("-", "_"))
	except UnknownLocaleError:
		return format_by_pattern(value, pattern, locale="en")


def format_date(string_date=None, format_string: str | None = None) -> str:
	"""yyyy-mm-dd, the system's default, or by a pattern such as dd.MM.yyyy."""
	if not string_date:
		return ""
	pattern = (format_string or "yyyy-MM-dd").replace("mm", "MM").replace("Y", "y")
	return format_moment(getdate(string_date), pattern)


def format_datetime(datetime_string, format_string: str | None = None) -> str | None:
	if not datetime_string:
		return None
	return format_moment(get_datetime(datetime_string), format_string or "yyyy-MM-dd HH:mm:ss")


def get_system_timezone() -> str:
	"""The time zone of the site's configuration, else of the machine. A zone without a name is named by its
	current offset.
	"""
	if zone := frappe.local.conf.time_zone:
		return zone
	zone = os.environ.get("TZ", "").removeprefix(":")
	if not zone or zone.startswith("/"):
		zone = os.path.realpath(zone or "/etc/localtime").partition("/zoneinfo/")[2]
	return zone if is_zone(zone) else name_offset()


@cache
def is_zone(name: str) -> bool:
	try:
		ZoneInfo(name)
	except (ValueError, OSError, KeyError):
		return False
	return True


def name_offset() -> str:
	offset = datetime.datetime.now().astimezone().utcoffset()
	hours = round(offset.total_seconds() / 3600) if offset else 0
	return f"Etc/GMT{-hours:+d}" if hours else "UTC"


# --- addresses ---


def get_url(uri: str | None = None, full_address: bool = False) -> str:
	"""The site's address (of the request, else `host_name` of the configuration) with a path."""
	host = frappe.local.conf.host_name
	if not host and (request := getattr(frappe.local, "request", None)):
		host = request.host_url
	host = host or "http://" + (frappe.local.site or "localhost")
	if not host.startswith(("http://", "https://")):
		host = f"http://{host}"
	host = host.rstrip("/")
	return urljoin(f"{host}/", uri) if uri else host


def get_absolute_url(doctype: str, name: str) -> str:
	return f"/app/{frappe.scrub(doctype).replace('_', '-')}/{quote(cstr(name))}"


def get_url_to_form(doctype: str, name: str) -> str:
	return get_url(uri=get_absolute_url(doctype, name))


def get_link_to_form(doctype: str, name: str, label: str | None = None) -> str:
	return f'<a href="{get_url_to_form(doctype, name)}">{label or name}</a>'
