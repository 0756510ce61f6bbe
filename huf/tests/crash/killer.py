"""Runs workers in separate processes and kills them at a chosen commit."""

import os
import signal
from datetime import timedelta
from multiprocessing.connection import Connection

import frappe

from huf.tests.forks import FORKS


def run_worker(**order) -> dict:
	"""Run a worker until it ends or is killed; returns {"commits", "killed"}.

	An order has "run" (or "undo" and "digest"), "kill_at" (number of a commit, 0: never), "when" ("before" or
	"after" that commit) and "later" (seconds by which the worker's clock is ahead). With "request" (arguments
	of werkzeug's test client) instead of "run" it is a web worker.
	"""
	frappe.db.commit()
	reader, writer = FORKS.Pipe(duplex=False)
	worker = FORKS.Process(
		target=work, args=(frappe.local.site, os.path.abspath(frappe.local.sites_path), order, writer)
	)
	worker.start()
	writer.close()
	worker.join()
	with reader:
		killed = worker.exitcode == -signal.SIGKILL
		return {"commits": order["kill_at"] if killed else reader.recv(), "killed": killed}


def work(site: str, sites_path: str, order: dict, output: Connection) -> None:
	import frappe
	from frappe.utils import now_datetime

	from huf.ai.core.database_connections import let_updates_wait
	from huf.ai.loop import waiting
	from huf.ai.storage import leases

	# Otherwise a worker also commits while a model answers slowly, and the numbers of the commits vary.
	waiting.GUARD_INTERVAL_S = leases.RENEW_AFTER_S = leases.LEASE_S
	frappe.init(site, sites_path=sites_path)
	frappe.connect()
	let_updates_wait()
	frappe.flags.in_test = True
	# A request opens its own connection. Connections of a run's parallel read tools are not counted.
	commits = count_commits(type(frappe.local.db) if "request" in order else frappe.db, order)
	if request := order.get("request"):
		serve(site, sites_path, request)
	elif "undo" in order:
		from huf.ai.undo.undo import UndoSelection, apply_undo

		apply_undo(UndoSelection((order["undo"],)), order["digest"])
	else:
		from huf.ai.runs.queue import work_on

		work_on(order["run"], now_datetime() + timedelta(seconds=order["later"]))
	if "request" not in order:
		frappe.db.commit()
	output.send(commits[0])


def serve(site: str, sites_path: str, request: dict) -> None:
	import frappe.app
	from werkzeug.test import Client

	frappe.app._site, frappe.app._sites_path = site, sites_path
	response = Client(frappe.app.application).open(**request)
	response.get_data()
	response.close()


def count_commits(database, order: dict) -> list[int]:
	"""Count the commits of a connection or connection class, and kill this process at the ordered one."""
	count, commit = [0], database.commit

	def counted(*args, **kwargs):
		count[0] += 1
		if count[0] == order["kill_at"] and order["when"] == "before":
			os.kill(os.getpid(), signal.SIGKILL)
		commit(*args, **kwargs)
		if count[0] == order["kill_at"]:
			os.kill(os.getpid(), signal.SIGKILL)

	database.commit = counted
	return count
