"""A process that forks workers and has them killed: `python -m huf.tests.crash.killer SITE SITES_PATH`.

Reads one JSON object a line: {"run" (or "undo" and "digest"), "kill_at" (number of a commit, 0: let it
live), "when" ("before" or "after"), "later" (seconds by which this worker's clock is ahead)}; answers each
with {"commits", "killed"}. With "request" (arguments of werkzeug's test client) instead of "run" it is a web
worker that is killed.
It has one thread and has imported what a worker needs, so that a worker is a fork away.
"""

import asyncio
import json
import os
import signal
import sys
from datetime import timedelta


def main(site: str, sites_path: str) -> None:
	os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
	preload(site, sites_path)
	for line in sys.stdin:
		print(json.dumps(fork_worker(site, sites_path, json.loads(line))), flush=True)


def preload(site: str, sites_path: str) -> None:
	import huf.embedded

	huf.embedded.install()
	import huf.ai.agents.tool_factory
	import huf.ai.mcp.server.http
	import huf.ai.runs.queue
	from huf.ai.providers import litellm

	asyncio.run(litellm.warm_up())
	import frappe

	# Many modules are loaded when a site first writes a document.
	frappe.init(site, sites_path=sites_path)
	frappe.connect()
	for doctype in ("Agent Run", "Email Queue", "Note"):
		frappe.new_doc(doctype)
	frappe.get_doc({"doctype": "ToDo", "description": "Loads what a write needs"}).insert()
	frappe.db.rollback()
	frappe.destroy()


def fork_worker(site: str, sites_path: str, order: dict) -> dict:
	here, there = os.pipe()
	child = os.fork()
	if child == 0:
		os.close(here)
		work(site, sites_path, order, there)
		os._exit(0)
	os.close(there)
	with os.fdopen(here) as pipe:
		said = pipe.read()
	_, status = os.waitpid(child, 0)
	if os.WIFSIGNALED(status):
		return {"commits": order["kill_at"], "killed": True}
	return {"commits": int(said or -1), "killed": False}


def work(site: str, sites_path: str, order: dict, there: int) -> None:
	import frappe
	from frappe.utils import now_datetime

	frappe.init(site, sites_path=sites_path)
	frappe.connect()
	frappe.flags.in_test = True
	# A request connects by itself; tools of a run that read side by side have connections that do not count.
	commits = count_commits(type(frappe.local.db) if "request" in order else frappe.db, order)
	if request := order.get("request"):
		serve(site, sites_path, request)
		os.write(there, str(commits[0]).encode())
		return
	if "undo" in order:
		from huf.ai.undo.undo import UndoSelection, apply_undo

		apply_undo(UndoSelection((order["undo"],)), order["digest"])
	else:
		from huf.ai.runs.queue import work_on

		work_on(order["run"], now_datetime() + timedelta(seconds=order["later"]))
	frappe.db.commit()
	os.write(there, str(commits[0]).encode())


def serve(site: str, sites_path: str, request: dict) -> None:
	import frappe.app
	from werkzeug.test import Client

	frappe.app._site, frappe.app._sites_path = site, sites_path
	response = Client(frappe.app.application).open(**request)
	response.get_data()
	response.close()


def count_commits(database, order: dict) -> list[int]:
	"""Count the commits of a connection, or of a class of them, and die at the one that was ordered."""
	seen, commit = [0], database.commit

	def counted(*args, **kwargs):
		seen[0] += 1
		if seen[0] == order["kill_at"] and order["when"] == "before":
			os.kill(os.getpid(), signal.SIGKILL)
		commit(*args, **kwargs)
		if seen[0] == order["kill_at"]:
			os.kill(os.getpid(), signal.SIGKILL)

	database.commit = counted
	return seen


if __name__ == "__main__":
	main(*sys.argv[1:])
