"""Numbers: those that a text contains, and those that follow from rows or from other numbers."""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from decimal import Decimal
from itertools import islice, permutations
from typing import Any

from huf.ai.core.grouping import group_pairs
from huf.ai.receipts.times import CLOCK, ISO_DATE
from huf.ai.receipts.words import NUMBER_WORDS, ROUNDINGS, SCALES

MAX_NUMBER = 1e300
MAX_ROWS = 500
MAX_COLUMNS = 200
"""Sums are made of each column of numbers for each other column."""
MAX_GROUPS = 20
MAX_OPERANDS = 12
MIN_ROUNDED = 100
"""Smaller fractions rounded to integers would prove almost any count."""
MIN_ROUNDED_RESULT = 10
MAX_ROUNDED = 0.1
"""Part of a rounded number that its last place counts at most: about 1,000 is not 1,400."""
SCALE = rf"(?i:(?:{'|'.join(SCALES)})(?!\w))"
NUMBER = re.compile(rf"(?<![A-Za-z\d])\d+(?:[.,\s\u00a0’']\d{{3}})*(?:[.,]\d+)?(?:{SCALE}|(?![A-Za-z\d]))")
STATED_NUMBER = re.compile(
	rf"(?:(?<!\w)(?i:{'|'.join(ROUNDINGS)})\s*(?:[€$£]\s?|[A-Z]{{3}}\s)?)?(?<![\w#./-])[-−]?"
	rf"((?:\d{{1,3}}(?:[.,\u00a0 ’']\d{{3}})+(?:[.,]\d+)?|\d+(?:[.,]\d+)?)(?:{SCALE})?)(?![\w/]|-\w|[.:]\d)"
)
"""A number of an answer, with the word by which it is rounded."""
PLAIN_NUMBER = re.compile(r"(?<![A-Za-z\d])(?<!\d\.)\d+(?![A-Za-z\d])")
"""Not the digits behind a point: 49.9 proves no nine."""
END_OF_NAME = re.compile(r"(?:(?<=[A-Za-z]-)|(?<=\d{4}-))0*\d{1,2}(?!\d|[.,]\d)")
"""The last digits of names: ITM-017 and INV-2026-00017 prove no 17."""
PERCENT = re.compile(r"\s?(?:%|per ?cent|prozent|por ciento|procent)", re.IGNORECASE)
PERCENTAGE = re.compile(rf"(?<!\d)\d+(?:[.,]\d+)?{PERCENT.pattern}", re.IGNORECASE)
WORD = re.compile(r"(?<!\w)[^\W\d_]+(?:-[^\W\d_]+)?(?!\w)")


def read_numbers(text: str) -> set[float]:
	"""Every number in a text, in each way it may be read: 1.234,5 as well as the parts of 1-2.

	Of dates only the years; of times of day none.
	"""
	text = END_OF_NAME.sub(" ", CLOCK.sub(" ", ISO_DATE.sub(lambda date: f" {date[0][:4]} ", text)))
	found: set[float] = {float(part[:15]) for part in PLAIN_NUMBER.findall(text)}
	for written in NUMBER.findall(text):
		found.update(parse_number(written))
	return found | {number for _, number in read_number_words(text)}


def read_number_words(text: str) -> Iterator[tuple[str, float]]:
	"""Number words in one of the languages, such as "two" or "twenty-seven"."""
	for word in WORD.findall(text.lower()):
		parts = [NUMBER_WORDS.get(part, 0) for part in word.split("-")]
		if all(parts) and (len(parts) == 1 or parts[0] >= 20 > 10 > parts[1]):
			yield word, float(sum(parts))


def parse_number(written: str) -> list[float]:
	"""The values that a number can stand for, with either decimal sign, times the scale behind it."""
	digits = re.sub(r"[^\d.,]", "", written)
	values = []
	for separator, point in ((",", "."), (".", ",")):
		if re.fullmatch(rf"\d+(?:[{separator}]\d{{3}})*(?:[{point}]\d+)?", digits):
			number = float(digits.replace(separator, "").replace(point, "."))
			values.append(round(number * read_scale(written), 4))
	return list(filter(is_usable, dict.fromkeys(values)))


def read_scale(written: str) -> int:
	return next((scale for words, scale in SCALES.items() if re.search(rf"(?i:{words})$", written)), 1)


def read_bounds(written: str, value: float, min_rounded: int) -> tuple[float, float]:
	"""The smallest and largest exact number that may be written like this: "about 3,700" is 3,650 to 3,750.

	Without a word such as "about", a last decimal may be rounded, and integers from `min_rounded` on.
	"""
	words = (places for words, places in ROUNDINGS.items() if re.match(rf"(?i:{words})(?![^\W\d])", written))
	places = next(words, None)
	place = 10.0 ** int(Decimal(str(value)).normalize().as_tuple().exponent)
	if place >= 1 and not places and read_scale(written) == 1:
		place = float(value >= min_rounded)
	place = min(place, MAX_ROUNDED * max(value, 1))
	below, above = places or (-0.5, 0.5)
	return value + below * place, value + above * place


def find_exact(written: str, values: list[float], known: list[float]) -> list[float]:
	"""The numbers for which a written one may stand, among those known, which are sorted."""
	bounds = [read_bounds(written, value, MIN_ROUNDED) for value in values]
	return [n for low, high in bounds for n in known[bisect_left(known, low) : bisect_right(known, high)]]


def is_usable(value: Any) -> bool:
	"""Whether a value is a number that can be added up; not NaN, and not an integer of 400 digits."""
	return isinstance(value, int | float) and abs(value) < MAX_NUMBER


def find_lists(value: Any, depth: int = 0) -> Iterator[list]:
	if depth > 4:
		return
	if isinstance(value, list):
		yield value
	children = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
	for child in list(children)[:200]:
		yield from find_lists(child, depth + 1)


def read_columns(rows: list) -> dict[str, list]:
	"""The values of each field of the rows; None where a row lacks it."""
	dicts = [row for row in rows[:MAX_ROWS] if isinstance(row, dict)]
	keys = dict.fromkeys(key for row in dicts for key in row)
	return {key: [row.get(key) for row in dicts] for key in islice(keys, MAX_COLUMNS)}


def describe_rows(rows: list) -> Iterator[float]:
	"""How often the values of each column occur; sums and averages of columns of numbers.

	Of other columns also how many values there are, and the sums of the rows that share one.
	"""
	columns = read_columns(rows)
	numeric = find_numeric(columns)
	for key, values in columns.items():
		groups = group(values)
		yield from map(float, map(len, groups.values()))
		if key in numeric:
			usable = list(filter(is_usable, values))
			yield round(float(sum(usable)), 4)
			yield round(sum(usable) / len(usable), 2)
			continue
		yield float(len(groups))
		if len(groups) <= MAX_GROUPS:
			for amounts in numeric.values():
				yield from (round(float(part), 4) for part in add_up(amounts, groups))


def describe_shares(rows: list) -> Iterator[float]:
	"""Percentages: of the rows that share a value, and of the sums of columns that these rows make up."""
	columns = read_columns(rows)
	numeric = find_numeric(columns)
	for key, values in columns.items():
		groups = group(values)
		yield from (100 * len(places) / len(values) for places in groups.values())
		if key not in numeric and len(groups) <= MAX_GROUPS:
			for amounts in numeric.values():
				if total := sum(amounts):
					yield from (100 * part / total for part in add_up(amounts, groups))


def find_numeric(columns: dict[str, list]) -> dict[str, list]:
	"""The columns of numbers, with 0 in place of other values."""
	kept = {key: [value if is_usable(value) else 0 for value in values] for key, values in columns.items()}
	return {key: values for key, values in kept.items() if any(values)}


def add_up(amounts: list, groups: dict[str, list[int]]) -> Iterator[float]:
	return (sum(amounts[place] for place in places) for places in groups.values())


def group(values: list) -> dict[str, list[int]]:
	"""The places of each value."""
	return group_pairs((str(value), place) for place, value in enumerate(values))


def follows(written: str, value: float, others: list[float]) -> bool:
	"""Whether a number is the result of a calculation with others, such as 59.88 from 49.90 and 20 %."""
	low, high = read_bounds(written, value, MIN_ROUNDED_RESULT)
	others = others[:MAX_OPERANDS]
	for one, other in permutations(others, 2):
		results = [one + other, one - other, one * other, one * other / 100]
		results += [one * (1 + other / 100), one * (1 - other / 100)]
		results += [one / other] if other else []
		if other and written.endswith("%"):
			results += [100 * one / other, 100 * abs(one - other) / other]
		if any(low <= result <= high for result in results):
			return True
	return False
