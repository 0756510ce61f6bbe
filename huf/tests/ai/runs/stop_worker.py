"""A worker process that executes the given runs one after another."""


def work_on_all(site: str, sites_path: str, runs: list[str]) -> None:
	import frappe

	from huf.ai.core.database_connections import let_updates_wait
	from huf.ai.runs.queue import work_on

	frappe.init(site, sites_path=sites_path)
	frappe.connect()
	let_updates_wait()
	frappe.flags.in_test = True
	for run in runs:
		frappe.db.rollback()
		work_on(run)
		frappe.db.commit()
