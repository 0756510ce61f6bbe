"""Calculates German lawyers' fees (RVG) by the value of a matter. Pure; the law in force is passed in as
data.

That data is a `FeeTable` (§ 13 Abs. 1 RVG) and `Number`s of the Vergütungsverzeichnis (Anlage 1 RVG). Amounts
are Decimal euros. A fee is rounded to the cent, half a cent up (§ 2 Abs. 2 Satz 2 RVG), and is at least the
minimum fee (§ 13 Abs. 3 RVG). All numbers of a bill are for one value: the cap of § 15 Abs. 3 RVG for several
values is not implemented.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import date
from decimal import ROUND_CEILING, ROUND_HALF_UP, Decimal
from enum import Enum

CENT = Decimal("0.01")
RATE_PER_FURTHER_CLIENT = Decimal("0.3")
MAX_RATE_FOR_CLIENTS = Decimal("2.0")
"""Added to a rate for each further client, and the maximum for all of them (Nr. 1008 VV RVG)."""
CREDITED_SHARE = Decimal("0.5")
MAX_CREDITED_RATE = Decimal("0.75")
"""Share of the Geschäftsgebühr that is credited to the Verfahrensgebühr, and its maximum rate (Vorbem. 3 Abs.
4 VV RVG).
"""
PUBLISHED_TO = Decimal(500_000)
"""The highest value in the law's own printed table (Anlage 2 RVG)."""
NO_TABLE = (
	"There is no fee table here that you may read. Enter one in Helena RVG Tabelle, or ask for permission to "
	"read those that are there."
)
ORDER_TOO_OLD = (
	"There is no fee table for orders given before {0}. Enter that table in Helena RVG Tabelle, or check the "
	"day of the order."
)


class Kind(str, Enum):
	FEE = "Gebühr"
	SHARE = "Anteil"
	TAX = "Steuer"


@dataclass(frozen=True)
class Step:
	"""Up to a value (None: unlimited), each started amount of `per` euros adds `add` to the fee."""

	up_to: Decimal | None
	per: Decimal
	add: Decimal


@dataclass(frozen=True)
class FeeTable:
	"""§ 13 RVG as in force for orders given from a day on (§ 60 Abs. 1 RVG)."""

	valid_from: date
	source: str
	first_value: Decimal
	first_fee: Decimal
	min_fee: Decimal
	max_value: Decimal
	steps: tuple[Step, ...]

	def full_fee(self, value: Decimal) -> Decimal:
		"""The fee at rate 1.0; values are capped at the maximum (§ 22 Abs. 2 RVG)."""
		value, below, fee = min(value, self.max_value), self.first_value, self.first_fee
		for step in self.steps:
			if value <= below:
				break
			top = value if step.up_to is None else min(value, step.up_to)
			fee += ((top - below) / step.per).to_integral_value(ROUND_CEILING) * step.add
			below = top
		return fee

	def fee(self, value: Decimal, rate: Decimal) -> Decimal:
		return max(round_to_cent(self.full_fee(value) * rate), self.min_fee)

	def rows(self) -> Iterable[tuple[Decimal, Decimal]]:
		"""(value up to, full fee) of the printed table."""
		value = self.first_value
		yield value, self.full_fee(value)
		for step in self.steps:
			while value < (step.up_to or PUBLISHED_TO):
				value += step.per
				yield value, self.full_fee(value)


@dataclass(frozen=True)
class Number:
	"""A number of the Vergütungsverzeichnis.

	Its rate is between `min_rate` and `max_rate`; `max_amount` is in euros.
	"""

	number: str
	title: str
	kind: Kind
	rate: Decimal
	min_rate: Decimal | None = None
	max_rate: Decimal | None = None
	max_amount: Decimal | None = None
	is_raised: bool = False
	is_credited: bool = False
	takes_credit: bool = False


@dataclass(frozen=True)
class Line:
	number: str
	title: str
	rate: Decimal
	amount: Decimal


def round_to_cent(amount: Decimal) -> Decimal:
	return amount.quantize(CENT, ROUND_HALF_UP)


def choose_fee_table(tables: Sequence[FeeTable], ordered: date) -> FeeTable:
	"""The table in force on the day of the order. Raises ValueError without tables, and if the order is older
	than all of them.
	"""
	if not tables:
		raise ValueError(NO_TABLE)
	known = [table for table in tables if table.valid_from <= ordered]
	if not known:
		raise ValueError(ORDER_TOO_OLD.format(min(table.valid_from for table in tables)))
	return max(known, key=lambda table: table.valid_from)


def calculate_bill(
	table: FeeTable, value: Decimal, numbers: Iterable[Number], clients: int = 1
) -> list[Line]:
	"""The lines of a bill in the given order; a share (Nr. 7002) closes the matter of the fees before it.

	Credits (Vorbem. 3 Abs. 4 VV RVG) are lines of their own; a share is calculated from the fees before
	crediting, tax from all lines above it. Raises ValueError for a rate outside its range.
	"""
	lines: list[Line] = []
	fees, credit = Decimal(0), None
	for each in numbers:
		if each.kind is Kind.SHARE:
			lines.append(Line(each.number, each.title, each.rate, calculate_share(each, fees)))
			fees = Decimal(0)
			continue
		if each.kind is Kind.TAX:
			net = sum((line.amount for line in lines), Decimal(0))
			lines.append(Line(each.number, each.title, each.rate, round_to_cent(net * each.rate)))
			continue
		rate = calculate_rate(each, clients)
		lines.append(Line(each.number, each.title, rate, table.fee(value, rate)))
		fees += lines[-1].amount
		if each.is_credited:
			credit = replace(each, rate=min(rate * CREDITED_SHARE, MAX_CREDITED_RATE))
		if each.takes_credit and credit:
			lines.append(build_credit_line(table, value, credit, lines[-1]))
			credit = None
	return lines


def calculate_rate(number: Number, clients: int) -> Decimal:
	low, high = number.min_rate or number.rate, number.max_rate or number.rate
	if not low <= number.rate <= high:
		raise ValueError(f"The rate of Nr. {number.number} VV RVG is {low} to {high}, not {number.rate}.")
	if not number.is_raised:
		return number.rate
	return number.rate + min((clients - 1) * RATE_PER_FURTHER_CLIENT, MAX_RATE_FOR_CLIENTS)


def calculate_share(number: Number, fees: Decimal) -> Decimal:
	share = round_to_cent(fees * number.rate)
	return share if number.max_amount is None else min(share, number.max_amount)


def build_credit_line(table: FeeTable, value: Decimal, credited: Number, on: Line) -> Line:
	"""The credit, at most as high as the fee it reduces."""
	amount = min(round_to_cent(table.full_fee(value) * credited.rate), on.amount)
	return Line(credited.number, f"Anrechnung auf Nr. {on.number}", -credited.rate, -amount)
