"""Converts between stored times, which are naive in the site's time zone, and UTC."""

from datetime import datetime, timedelta, timezone
from typing import Any
from zoneinfo import ZoneInfo

from frappe.utils import get_datetime, get_system_timezone


def to_utc(recorded: Any) -> datetime:
	"""A stored time, as datetime or text, as an aware datetime in UTC."""
	return get_datetime(recorded).replace(tzinfo=ZoneInfo(get_system_timezone())).astimezone(timezone.utc)


def from_utc(moment: datetime) -> datetime:
	"""An aware time, or a naive one in UTC, as a stored time."""
	aware = moment if moment.tzinfo else moment.replace(tzinfo=timezone.utc)
	return aware.astimezone(ZoneInfo(get_system_timezone())).replace(tzinfo=None)


def subtract_seconds(recorded: datetime, seconds: float) -> datetime:
	"""The stored time `seconds` earlier, also across a change of the clocks."""
	return from_utc(to_utc(recorded) - timedelta(seconds=seconds))
