"""The days of a period that a filter names: `["timespan", "last week"]`, `["previous", "1 month"]`."""

import datetime

from frappe.utils.data import getdate

DAYS = {"yesterday": -1, "today": 0, "tomorrow": 1}
STEPS = {"last": -1, "this": 0, "next": 1}
MONTHS = {"month": 1, "quarter": 3, "year": 12}
NAMES = {
	"1 week": "week",
	"1 month": "month",
	"3 months": "quarter",
	"6 months": "6 months",
	"1 year": "year",
}


def get_period(operator: str, value) -> tuple[datetime.date, datetime.date] | None:
	"""First and last day; None if "timespan" does not know it, KeyError if "previous" and "next" do not."""
	if operator != "timespan":
		value = f"{'last' if operator == 'previous' else 'next'} {NAMES[value]}"
	today = getdate()
	if value in DAYS:
		return (today + datetime.timedelta(DAYS[value]),) * 2
	word, _, unit = str(value).partition(" ")
	step = STEPS.get(word)
	if step is None:
		return None
	if unit == "week":  # they begin on Sunday
		first = today + datetime.timedelta(7 * step - today.isoweekday() % 7)
		return first, first + datetime.timedelta(6)
	if unit in MONTHS:
		return of_months(today, MONTHS[unit], step)
	if step and unit == "6 months":
		first, last = sorted((of_months(today, 3, step), of_months(today, 3, 2 * step)))
		return first[0], last[1]
	if step and unit in ("7 days", "14 days", "30 days"):
		first, last = sorted((today, today + datetime.timedelta(step * int(unit[:-5]))))
		return first, last
	return None


def of_months(today: datetime.date, length: int, step: int) -> tuple[datetime.date, datetime.date]:
	"""The calendar period of `length` months that is `step` periods from the present one."""
	first = ((today.year * 12 + today.month - 1) // length + step) * length
	days = [datetime.date(month // 12, month % 12 + 1, 1) for month in (first, first + length)]
	return days[0], days[1] - datetime.timedelta(1)
