"""Separate database connections of calls, and the first transaction of any connection."""

from typing import Any

import frappe


def connect() -> None:
	"""Open a separate connection for this context. Its user stays the same."""
	frappe.connect(set_admin_as_user=False)
	end_first_transaction()


def end_connection(db: Any) -> None:
	"""Have the database server end a connection: closing it here, while its thread uses it, can crash
	MariaDB's driver and waits for the statement on Postgres.
	"""
	if db.db_type == "mariadb" and db._conn:
		frappe.db.sql("kill %s", (db._conn.thread_id(),))
	elif db.db_type == "postgres" and db._conn:
		frappe.db.sql("select pg_terminate_backend(%s)", (db._conn.get_backend_pid(),))
	else:
		db.close()


def begin_read_committed(method: str = "") -> None:
	"""Hook of requests and jobs (`method`: the job's function), for Huf's own calls."""
	request = None if method else frappe.local.request
	path = request.path if request else method
	if path.split("/")[-1].startswith("huf."):
		end_first_transaction()


def end_first_transaction() -> None:
	"""Make the first transaction of a connection like the later ones.

	On Postgres, Frappe begins it as REPEATABLE READ, in which an update fails if another worker has changed
	the row since. Every later one is READ COMMITTED, the database's default: an update waits and then sees
	what was committed, as on MariaDB.
	"""
	if frappe.db.db_type == "postgres":
		frappe.db.commit()
