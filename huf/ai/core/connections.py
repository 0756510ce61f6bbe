"""Connections whose first transaction is like the later ones, also on Postgres.

There Frappe begins the first transaction of a connection as REPEATABLE READ, in which an update fails if
another worker has changed the row since. Every later one is READ COMMITTED, the database's default: an update
waits and then sees what was committed, as on MariaDB.
"""

import frappe


def connect() -> None:
	"""Give this context a connection of its own, and leave its user as it is."""
	frappe.connect(set_admin_as_user=False)
	end_first_transaction()


def begin_read_committed(method: str = "") -> None:
	"""Hook of requests and jobs (`method`: the job's function), for Huf's own calls."""
	request = None if method else frappe.local.request
	path = request.path if request else method
	if path.split("/")[-1].startswith("huf."):
		end_first_transaction()


def end_first_transaction() -> None:
	if frappe.db.db_type == "postgres":
		frappe.db.commit()
