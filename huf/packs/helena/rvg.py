"""Lawyers' fees by the value of a matter, and the bill that they make up. Pure: knows no site and no present law.

Which law counts is data: a `FeeTable` (§ 13 Abs. 1 RVG) and `Number`s of the Vergütungsverzeichnis (Anlage 1 RVG). Amounts are
Decimal euros. A fee is rounded to the cent, half a cent up (§ 2 Abs. 2 Satz 2 RVG), and is no less than the smallest (§ 13 Abs. 3
RVG). All numbers of a bill are for one value: the cap of § 15 Abs. 3 RVG for several values is not known here.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import date
from decimal import ROUND_CEILING, ROUND_HALF_UP, Decimal
from enum import Enum

CENT = Decimal("0.01")
MORE_CLIENTS, MAX_FOR_CLIENTS = Decimal("0.3"), Decimal("2.0")
"""What each further client adds to a rate, and all of them together at most (Nr. 1008 VV RVG)."""
CREDITED, MAX_CREDITED = Decimal("0.5"), Decimal("0.75")
"""The part of the Geschäftsgebühr that the Verfahrensgebühr is reduced by, and its highest rate (Vorbem. 3 Abs. 4 VV RVG)."""
PUBLISHED_TO = Decimal(500_000)
"""The highest value in the law's own printed table (Anlage 2 RVG)."""


class Kind(str, Enum):
	FEE = "Gebühr"
	SHARE = "Anteil"
	TAX = "Steuer"


@dataclass(frozen=True)
class Step:
	"""Up to a value (None: any), each begun `per` euros raise the fee by `add`."""

	up_to: Decimal | None
	per: Decimal
	add: Decimal


@dataclass(frozen=True)
class FeeTable:
	"""§ 13 RVG as it counts for orders given from a day on (§ 60 Abs. 1 RVG)."""

	valid_from: date
	source: str
	first_value: Decimal
	first_fee: Decimal
	least_fee: Decimal
	most_value: Decimal
	steps: tuple[Step, ...]

	def full_fee(self, value: Decimal) -> Decimal:
		"""The fee at the rate 1.0; a value above the highest (§ 22 Abs. 2 RVG) counts as that."""
		value, below, fee = min(value, self.most_value), self.first_value, self.first_fee
		for step in self.steps:
			if value <= below:
				break
			top = value if step.up_to is None else min(value, step.up_to)
			fee += ((top - below) / step.per).to_integral_value(ROUND_CEILING) * step.add
			below = top
		return fee

	def fee(self, value: Decimal, rate: Decimal) -> Decimal:
		return max(to_cent(self.full_fee(value) * rate), self.least_fee)

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
	"""A number of the Vergütungsverzeichnis. `least` and `most`: the frame of its rate; `at_most`: euros."""

	number: str
	title: str
	kind: Kind
	rate: Decimal
	least: Decimal | None = None
	most: Decimal | None = None
	at_most: Decimal | None = None
	is_raised: bool = False
	is_credited: bool = False
	takes_credit: bool = False


@dataclass(frozen=True)
class Line:
	number: str
	title: str
	rate: Decimal
	amount: Decimal


def to_cent(amount: Decimal) -> Decimal:
	return amount.quantize(CENT, ROUND_HALF_UP)


def table_for(tables: Sequence[FeeTable], ordered: date) -> FeeTable:
	"""The table for an order of that day. Raises ValueError where it is older than all."""
	known = [table for table in tables if table.valid_from <= ordered]
	if not known:
		oldest = min(table.valid_from for table in tables)
		raise ValueError(f"There is no fee table for orders given before {oldest}.")
	return max(known, key=lambda table: table.valid_from)


def bill(table: FeeTable, value: Decimal, numbers: Iterable[Number], clients: int = 1) -> list[Line]:
	"""The lines of a bill, in the order given; a share (Nr. 7002) closes the matter whose fees stand before it.

	Fees are credited as Vorbem. 3 Abs. 4 VV RVG has it, in a line of its own; a share is of the fees before that. Tax is on all
	that stands above it. Raises ValueError for a rate outside of its frame.
	"""
	lines: list[Line] = []
	fees, credit = Decimal(0), None
	for each in numbers:
		if each.kind is Kind.SHARE:
			lines.append(Line(each.number, each.title, each.rate, share_of(each, fees)))
			fees = Decimal(0)
			continue
		if each.kind is Kind.TAX:
			net = sum((line.amount for line in lines), Decimal(0))
			lines.append(Line(each.number, each.title, each.rate, to_cent(net * each.rate)))
			continue
		rate = rate_of(each, clients)
		lines.append(Line(each.number, each.title, rate, table.fee(value, rate)))
		fees += lines[-1].amount
		if each.is_credited:
			credit = replace(each, rate=min(rate * CREDITED, MAX_CREDITED))
		if each.takes_credit and credit:
			lines.append(credit_line(table, value, credit, lines[-1]))
			credit = None
	return lines


def rate_of(number: Number, clients: int) -> Decimal:
	least, most = number.least or number.rate, number.most or number.rate
	if not least <= number.rate <= most:
		raise ValueError(f"The rate of Nr. {number.number} VV RVG is {least} to {most}, not {number.rate}.")
	if not number.is_raised:
		return number.rate
	return number.rate + min((clients - 1) * MORE_CLIENTS, MAX_FOR_CLIENTS)


def share_of(number: Number, fees: Decimal) -> Decimal:
	share = to_cent(fees * number.rate)
	return share if number.at_most is None else min(share, number.at_most)


def credit_line(table: FeeTable, value: Decimal, credited: Number, on: Line) -> Line:
	"""Never more than the fee it is credited to."""
	amount = min(to_cent(table.full_fee(value) * credited.rate), on.amount)
	return Line(credited.number, f"Anrechnung auf Nr. {on.number}", -credited.rate, -amount)
