"""Separate database connections of calls, and what any connection of Huf's own needs."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import frappe


def connect() -> None:
	"""Open a separate connection for this context. Its user stays the same."""
	frappe.connect(set_admin_as_user=False)
	let_updates_wait()


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


def prepare_connection(method: str = "", kwargs: Mapping[str, Any] | None = None) -> None:
	"""Hook of requests and of jobs (`method`, `kwargs`: the job's function and arguments), for Huf's own."""
	request = None if method else frappe.local.request
	if is_own_path(request.path) if request else is_own_job(method, kwargs or {}):
		let_updates_wait()


def is_own_job(method: str, arguments: Mapping[str, Any]) -> bool:
	# Frappe runs scheduled functions in a function of its own, whose argument `job_type` names them.
	return str(arguments.get("job_type") or method).startswith("huf.")


def is_own_path(path: str) -> bool:
	return path.startswith("/agent/hook/") or path.split("/")[-1].startswith("huf.")


def let_updates_wait() -> None:
	"""Have an update wait for a row that another worker changes, and then see what was committed.

	Otherwise it fails if the row has changed since the transaction began: on Postgres in a connection's first
	transaction, which Frappe begins as REPEATABLE READ (later ones have the database's default, READ
	COMMITTED), and in every transaction on MariaDB from 11.6.2 on, unless its snapshot isolation is off.
	"""
	if frappe.db.db_type == "postgres":
		frappe.db.commit()
	elif frappe.db.db_type == "mariadb":
		# Servers before 11.6.2 skip the comment: not all of them know the variable.
		frappe.db.sql("set @huf = 1 /*M!110602 , session innodb_snapshot_isolation = off */")


@contextmanager
def let_statements_wait() -> Iterator[None]:
	"""`let_updates_wait` for a block, or a function, in a transaction that may not be Huf's: a save in the
	Desk must not fail because of what Huf stores with it.

	Does nothing on Postgres, which keeps the isolation of a transaction that has begun.
	"""
	if frappe.db.db_type != "mariadb":
		yield
		return
	(is_isolated,) = frappe.db.sql("select 0 /*M!110602 + @@innodb_snapshot_isolation */", pluck=True)
	if not is_isolated:
		yield
		return
	let_updates_wait()
	try:
		yield
	finally:
		frappe.db.sql("set session innodb_snapshot_isolation = on")
