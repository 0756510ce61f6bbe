"""Checks a site for an operator: disk, databases, secrets, queue, schedule, stops, mail, models, tools."""

import platform
import shutil
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import huf
from huf.embedded import site
from huf.embedded.rotation import read_secrets

MIN_FREE_BYTES = 1_000_000_000
MAX_WAIT_S = 600
JOBS = "jobs.db"
DELETE_JOBS = "Stop the site and delete this file: a new one is made, and queued runs and events go on"


@dataclass(frozen=True)
class CheckResult:
	"""A check: its name, whether it passed, and what was found."""

	name: str
	is_good: bool
	text: str


def examine(frappe, home: Path) -> Iterator[CheckResult]:
	folder = site.site_path(home)
	yield CheckResult("version", True, f"Huf {huf.__version__}, Python {platform.python_version()}, {home}")
	free = shutil.disk_usage(folder).free
	yield CheckResult("disk", free >= MIN_FREE_BYTES, f"{free / 1e9:.1f} GB free")
	databases = [check_database(folder / name) for name in ("site.db", JOBS) if (folder / name).exists()]
	yield from databases
	yield check_secrets(frappe)
	if all(found.is_good for found in databases):
		yield from check_queue(frappe)
	yield check_schedule()
	yield check_stops()
	yield from check_mail(frappe)
	yield check_models(frappe)
	yield check_tools()


def check_database(path: Path) -> CheckResult:
	with closing(sqlite3.connect(path)) as database:
		try:
			found = database.execute("PRAGMA quick_check").fetchone()[0]
		except sqlite3.OperationalError:
			raise
		except sqlite3.DatabaseError as error:
			found = str(error)
	log = path.with_name(f"{path.name}-wal")  # holds what SQLite has not written into the database yet
	size = sum(file.stat().st_size for file in (path, log) if file.exists()) / 1e6
	advice = f". {DELETE_JOBS}" if path.name == JOBS and found != "ok" else ""
	return CheckResult(path.name, found == "ok", f"{found}, {size:.1f} MB{advice}")


def check_secrets(frappe) -> CheckResult:
	from frappe.utils.password import decrypt, get_old_encryption_keys

	rows = read_secrets(frappe)
	unreadable = []
	for doctype, name, fieldname, stored in rows:
		try:
			decrypt(stored)
		except frappe.ValidationError:
			unreadable.append(f"{doctype} {name} {fieldname}")
	frappe.clear_messages()
	seen = f"not readable with the encryption_key: {', '.join(unreadable)}" if unreadable else "all readable"
	is_half = bool(get_old_encryption_keys())
	seen += "; an old key is still in use: run `huf rotate-keys` again" if is_half else ""
	return CheckResult("secrets", not (unreadable or is_half), f"{len(rows)} stored, {seen}")


def check_queue(frappe) -> Iterator[CheckResult]:
	from frappe.utils.jobs_db import connect

	rows = connect().execute("SELECT status, count(*), min(created) FROM job GROUP BY status")
	counts = {row[0]: (row[1], row[2]) for row in rows}
	waiting, since = counts.get("queued", (0, time.time()))
	wait_s = int(time.time() - since)
	yield CheckResult(
		"queue", not waiting or wait_s < MAX_WAIT_S, f"{waiting} jobs waiting, the oldest for {wait_s} s"
	)
	failed = counts.get("failed", (0, 0))[0]
	yield CheckResult("jobs", True, f"{counts.get('started', (0, 0))[0]} running, {failed} failed")


def check_schedule() -> CheckResult:
	from frappe.utils.scheduler import list_unreadable

	faults = list_unreadable()
	text = f"scheduler_events that never fire: {', '.join(faults)}" if faults else "all events can be read"
	return CheckResult("schedule", not faults, text)


def check_stops() -> CheckResult:
	"""Active stops. A person set them, so they are not a fault."""
	from huf.ai.storage.stops import describe_stop, read_stops

	stops = [f"{describe_stop(stop)} (huf release {stop['name']})" for stop in read_stops()]
	return CheckResult("stops", True, "; ".join(stops) or "nothing is stopped")


def check_mail(frappe) -> Iterator[CheckResult]:
	for row in frappe.get_all(
		"Agent Mailbox", fields=["name", "last_sync", "last_error", "enabled"], order_by="name asc"
	):
		state = row.last_error or f"last read {row.last_sync or 'never'}" if row.enabled else "disabled"
		yield CheckResult(f"mailbox {row.name}", not (row.enabled and row.last_error), state)
	since = frappe.utils.add_to_date(frappe.utils.now_datetime(), days=-1)
	unsent = {"status": ["!=", "Sent"], "error": ["is", "set"], "creation": [">=", since]}
	errors = frappe.get_all("Email Queue", unsent, pluck="error", order_by="creation desc")
	state = f"not sent in the last day: {len(errors)}" + (f"; the last: {errors[0]}" if errors else "")
	yield CheckResult("outgoing", not errors, state)
	if frappe.db.exists("Agent", {"approval_mail": 1}):
		known = bool(frappe.conf.host_name)
		advice = "" if known else ": set host_name in site_config.json"
		yield CheckResult("links in mails", known, f"lead to {frappe.utils.get_url()}{advice}")


def check_models(frappe) -> CheckResult:
	default = frappe.get_doc("Huf Settings").default_model
	count = frappe.db.count("AI Model")
	if not default:
		state = "no default model: agents without a model answer offline"
		return CheckResult("models", True, f"number of models: {count}; {state}")
	provider = frappe.db.get_value("AI Model", default, "provider")
	known = bool(provider and frappe.db.exists("AI Provider", provider))
	return CheckResult(
		"models", known, f"number of models: {count}; default {default} of {provider or 'no provider'}"
	)


def check_tools() -> CheckResult:
	from huf.ai.tools.lost_tools import list_lost_tools
	from huf.ai.tools.registry import list_tool_faults

	faults = [*list_tool_faults(), *list_lost_tools()]
	return CheckResult("tools", not faults, "; ".join(faults) or "all tools of apps and packs are loaded")
