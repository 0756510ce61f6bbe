"""Times of lists with 100,000 stored runs, relative to a few; `table_size` uses a million."""

import frappe

from huf.tests.benchmarks.floor import middle
from huf.tests.benchmarks.goals import Goal, print_missing
from huf.tests.benchmarks.table_size import CHATS, PAGES, START_PAGE, compare_sizes

ROWS, ROUNDS = 100_000, 20
GOALS = {
	CHATS: Goal("list_chats beside 100,000 runs / beside a few", 3),
	START_PAGE: Goal("get_home, the same", 3),
}


def measure() -> None:
	if frappe.db.db_type != "sqlite":
		return print_missing(
			CHATS, "it needs a copy of the site, which is a folder on the embedded runtime only"
		)
	found = compare_sizes(ROWS, ROUNDS)
	for name, goal in GOALS.items():
		few, many = (middle(times)[1] / PAGES for times in found[name])
		goal.print(many / few, f"{many:.2f} and {few:.2f} ms of the processor")
