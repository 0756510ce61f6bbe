"""Finds dates in four languages: tomorrow, am Freitag, en 3 días, 2026-03-01, 1.3.2026. Pure: today is given."""

import re
from collections.abc import Sequence
from datetime import date, timedelta

from huf.ai.providers.offline_planner.lexicon import Lexicon, Word

DAYS = Lexicon(
	{
		"2": ("day_after_tomorrow", "ubermorgen", "pasado_manana", "pozitri"),
		"0": ("today tonight", "heute", "hoy", "dnes"),
		"1": ("tomorrow", "morgen", "manana", "zitra"),
		"-1": ("yesterday", "gestern", "ayer", "vcera"),
		"7": ("next_week", "nachste_woche", "proxima_semana", "pristi_tyden"),
	}
)
WEEKDAYS = Lexicon(
	{
		"0": ("monday", "montag", "lunes", "pondeli"),
		"1": ("tuesday", "dienstag", "martes", "utery"),
		"2": ("wednesday", "mittwoch", "miercoles", "streda stredu"),
		"3": ("thursday", "donnerstag", "jueves", "ctvrtek"),
		"4": ("friday", "freitag", "viernes", "patek"),
		"5": ("saturday", "samstag sonnabend", "sabado", "sobota sobotu"),
		"6": ("sunday", "sonntag", "domingo", "nedele nedeli"),
	}
)
UNITS = Lexicon(
	{
		"1": ("day days", "tag tage tagen", "dia dias", "den dny dni"),
		"7": ("week weeks", "woche*", "semana*", "tyden tydny"),
	}
)
PERIODS = Lexicon(
	{"": ("day week month year", "tag woche monat jahr", "dia semana mes ano", "den tyden mesic rok")}
)
BEFORE_DATES = Lexicon(
	{
		"": (
			"on by due until for in before next this the",
			"am bis fur in vor nachsten ab den",
			"el para en antes_del proximo este",
			"v ve do na za pristi",
		)
	}
)
ISO_DATE = re.compile(r"\d{4}-\d\d-\d\d$")
DOTTED_DATE = re.compile(r"(\d{1,2})\.(\d{1,2})\.(\d{4})$")


def find_date(sequence: Sequence[Word], today: date) -> tuple[str, int, int] | None:
	"""The first date: (ISO, start, end) with the prepositions before it. None if there is none."""
	for at in range(len(sequence)):
		day, length = date_at(sequence, at, today)
		if day:
			start = at
			while start and sequence[start - 1].key in BEFORE_DATES:
				start -= 1
			return day.isoformat(), start, at + length
	return None


def date_at(sequence: Sequence[Word], at: int, today: date) -> tuple[date | None, int]:
	meaning, length = DAYS.at(sequence, at)
	if meaning:
		return today + timedelta(days=int(meaning)), length
	key = sequence[at].key
	if (weekday := WEEKDAYS.get(key)) is not None:
		return today + timedelta(days=(int(weekday) - today.weekday() - 1) % 7 + 1), 1
	if (
		key.isdigit()
		and len(key) < 4
		and at
		and sequence[at - 1].key in BEFORE_DATES
		and at + 1 < len(sequence)
	):
		if unit := UNITS.get(sequence[at + 1].key):
			return today + timedelta(days=int(key) * int(unit)), 2
	return written_date(key), 1


def written_date(key: str) -> date | None:
	"""2026-03-01 or 1.3.2026; None for anything else, 2026-02-31 included."""
	dotted = DOTTED_DATE.match(key)
	if not dotted and not ISO_DATE.match(key):
		return None
	try:
		return date(*map(int, reversed(dotted.groups()))) if dotted else date.fromisoformat(key)
	except ValueError:
		return None
