"""A worker in a process of its own: `python -m huf.tests.ai.runs.stop_worker SITE SITES_PATH`.

Executes the runs whose names it reads, one a line, and says "ready" first.
"""

import sys


def main(site: str, sites_path: str) -> None:
	from huf.tests.crash.killer import preload

	preload(site, sites_path)
	import frappe

	frappe.init(site, sites_path=sites_path)
	frappe.connect()
	frappe.flags.in_test = True
	from huf.ai.runs.queue import work_on

	print("ready", flush=True)
	for line in sys.stdin:
		frappe.db.rollback()
		work_on(line.strip())
		frappe.db.commit()


if __name__ == "__main__":
	main(*sys.argv[1:])
