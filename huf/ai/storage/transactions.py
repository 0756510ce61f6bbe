"""The isolation of the first transaction of a request or job on Postgres.

Frappe begins it as REPEATABLE READ, where an update of a row that another worker has changed meanwhile fails.
Every later one is READ COMMITTED, the database's default: an update waits and then sees what was committed,
as on MariaDB.
"""

import frappe


def begin_read_committed(method: str = "") -> None:
	"""Hook of requests and jobs (`method`: the job's function): end the first transaction of Huf's calls."""
	request = None if method else frappe.local.request
	path = request.path if request else method
	if path.split("/")[-1].startswith("huf.") and frappe.db.db_type == "postgres":
		frappe.db.commit()
