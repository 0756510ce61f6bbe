"""Dates, times of day and durations in texts."""

import re
from collections.abc import Iterator
from datetime import datetime
from itertools import pairwise

from huf.ai.receipts.words import MONTH, MONTHS, NUMBER_WORDS

MAX_DAY = 31
MAX_STAMPS = 500
MAX_COMPARED_STAMPS = 12
"""Among more, the times between them would prove almost any duration."""
ISO_DATE = re.compile(r"\b\d{4}-\d\d-\d\d(?=\b|T)")
STAMP = re.compile(r"\b\d{4}-\d\d-\d\d(?:[ T]\d\d:\d\d(?!:\d\d\.\d))?")
"""A date, with its time unless that is when a record was written, to the fraction of a second."""
OF_DAY = r"\s?(?:[ap]\.?m\b\.?|Uhr\b|hod(?:in)?\b\.?|h\b)"
CLOCK = re.compile(
	r"(?<![\d:.,])\d{1,2}:\d\d(?:(?::\d\d(?:\.\d+)?)?(?!\d))(?:\s?[ap]\.?m\b\.?)?"
	rf"|(?<![\d:.,])\d{{1,2}}(?:\.\d\d)?{OF_DAY}",
	re.IGNORECASE,
)
CERTAIN_CLOCK = re.compile(r":|m\b|Uhr", re.IGNORECASE)
"""In a time of day. Without, it may be a number of hours."""
UNTIL = r"\s?(?:to|and|until|till|bis|und|a|y|hasta|do|až|[-–])\s?(?:las\s)?"
MINUTES = r"[.:][0-5]\d(?!\d)"
CLOCK_RANGE = re.compile(
	rf"(?<![\d:.,])(\d{{1,2}}(?:{MINUTES}|(?={UNTIL}\d{{1,2}}(?:{MINUTES}|{OF_DAY}))))(?:{OF_DAY})?{UNTIL}"
	rf"(\d{{1,2}}(?:{MINUTES})?(?:{OF_DAY})?)(?![\w:]|[.,]\d)",
	re.IGNORECASE,
)
"""Two times of day, such as 3 to 4:30 pm or 15.00 bis 16.30: one has minutes, or a word such as Uhr."""
DAY = r"(?:[12]\d|3[01]|0?[1-9])(?:st|nd|rd|th|\.)?"
TO = r"\s*(?:[-–,]|to|and|bis|und|al|y|až|a)\s*(?:el\s+)?"
DATE = re.compile(
	r"(?<![\w-])\d{4}-\d\d-\d\d(?=\b|T)"
	rf"|\b(?:{DAY}{TO})?{DAY}\s+(?:of\s+|de\s+)?{MONTH}(?:,?\s+(?:de\s+|del\s+)?\d{{4}}\b)?"
	rf"|\b(?<!\b[ei][mn] ){MONTH}\s+{DAY}(?:{TO}{DAY})?(?!\w|[.,]\d)(?:,?\s+\d{{4}}\b)?"
	r"|(?<![\d.,])\d{1,2}\.\s?\d{1,2}\b\.?(?:\s?\d{4}\b)?",
	re.IGNORECASE,
)
"""2026-11-27, or a day or two and the month, with or without the year."""
CERTAIN_DATE = re.compile(rf"{MONTH}|\d{{4}}", re.IGNORECASE)
"""In a date. Without, it may be a number such as 20.11."""
UNITS = {
	"min": 1,
	"minutes?|minuten?|minutos?|minut[ay]?": 1,
	"hours?|stunden?|horas?|hodin[ay]?": 60,
	"days?|tage?n?|días?|den|dny|dnů|dní": 24 * 60,
	"weeks?|wochen?|semanas?|týden|týdny|týdnů": 7 * 24 * 60,
}
"""Words for units of time, with their minutes."""
DURATION = re.compile(
	rf"(?<![\w.,:-])(\d+(?:[.,]\d+)?|{'|'.join(NUMBER_WORDS)})[\s-]"
	rf"(?:(?:full|whole|volle[nr]?|working)\s)?({'|'.join(UNITS)})(?!\w)",
	re.IGNORECASE,
)


def read_clock_times(text: str) -> set[tuple[int, int]]:
	"""(hour, minute) of the times of day in a text, whether before or after noon."""
	ranges = [time for found in CLOCK_RANGE.finditer(text) for time in found.groups()]
	return set(map(parse_clock, [*CLOCK.findall(text), *ranges]))


def parse_clock(written: str) -> tuple[int, int]:
	hour, minute = [*re.findall(r"\d+", written), "0"][:2]
	return int(hour) % 12, int(minute)


def find_dates(text: str) -> set[tuple[int, int, int]]:
	"""(year or 0, month, day) of the dates in a text."""
	return {date for found in DATE.finditer(text) for date in parse_date(found[0])}


def parse_date(written: str) -> set[tuple[int, int, int]]:
	"""The dates of which one is written, such as 27 November 2026, or both of 20 to 25 November."""
	numbers = list(map(int, re.findall(r"\d+", written)))
	year = next((number for number in numbers if number > MAX_DAY), 0)
	days = [number for number in numbers if number <= MAX_DAY]
	if named := re.search(MONTH, written, re.IGNORECASE):
		month = MONTHS[named[0].lower().rstrip(".")]
	else:
		month = days.pop(0 if ISO_DATE.match(written) else -1) if days else 0
	return {(year, month, day) for day in days if 1 <= month <= 12}


def read_durations(text: str) -> Iterator[tuple[float, int]]:
	"""(number, minutes of its unit) of the durations in a text."""
	for written, unit in DURATION.findall(text):
		number = NUMBER_WORDS.get(written.lower()) or float(written.replace(",", "."))
		yield number, next(minutes for words, minutes in UNITS.items() if re.fullmatch(words, unit, re.I))


def read_spans(text: str, today: str) -> set[float]:
	"""Minutes of the durations in a text, between one of its dates and the next, and from `today`."""
	stamps = [*read_stamps(text)]
	compared = stamps if len(stamps) <= MAX_COMPARED_STAMPS else []
	spans = {abs((after - before).total_seconds()) / 60 for before, after in pairwise(compared)}
	for start in read_stamps(today):
		spans |= {abs((stamp.date() - start.date()).total_seconds()) / 60 for stamp in stamps}
	return spans | {number * minutes for number, minutes in read_durations(text)}


def read_stamps(text: str) -> Iterator[datetime]:
	for written in STAMP.findall(text)[:MAX_STAMPS]:
		try:
			yield datetime.fromisoformat(written)
		except ValueError:
			continue
