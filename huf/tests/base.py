"""The base class of tests that need a site, and helpers for them.

Both runtimes run these tests. Records that a test commits need unique names.
"""

import os
import unittest
from contextlib import AbstractContextManager
from typing import Any

os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")

import frappe

from huf.ai.core.database_connections import let_updates_wait
from huf.ai.providers.litellm_module import load


class SiteTestCase(unittest.TestCase):
	"""Starts and ends each test as Administrator without an open transaction."""

	@classmethod
	def setUpClass(cls):
		super().setUpClass()
		# Model calls are then checked in this process: a child for each scripted server takes seconds.
		load()

	def setUp(self):
		frappe.set_user("Administrator")
		frappe.db.rollback()
		let_updates_wait()
		frappe.local.message_log = []
		allow_many_users()

	def tearDown(self):
		frappe.db.rollback()
		frappe.set_user("Administrator")

	@classmethod
	def tearDownClass(cls):
		remove_jobs()


class WorkerEnds(BaseException):
	"""Raised in a tool: nothing handles it, as if the worker's process were gone."""


def allow_many_users():
	"""Raise Frappe's limit of 60 new users an hour, which these tests exceed."""
	frappe.local.conf["throttle_user_limit"] = 100_000


def end_open_runs():
	"""Cancel runs that other tests left open on a bench's site: a worker reads only 100 at a time."""
	is_open = {"status": ["in", ["Queued", "Started", "Waiting"]]}
	frappe.db.set_value("Agent Run", is_open, "status", "Cancelled", update_modified=False)
	frappe.db.commit()


def remove_jobs():
	"""Remove jobs of tests from a bench's queues: a full queue refuses more, and workers would run them."""
	try:
		from frappe.utils.background_jobs import get_queues
	except ImportError:
		return  # the embedded runtime has its own queue
	for queue in get_queues():
		for job_id in queue.get_job_ids():
			if job_id.startswith((f"{frappe.local.site}::", f"{frappe.local.site}||")):
				queue.remove(job_id)


def enter(test: unittest.TestCase | type[unittest.TestCase], context: AbstractContextManager) -> Any:
	"""Enter a context until the test or test class ends (Python 3.10 has no `enterContext`)."""
	entered = context.__enter__()
	(test.addClassCleanup if isinstance(test, type) else test.addCleanup)(context.__exit__, None, None, None)
	return entered


def keep_default_model(test: unittest.TestCase):
	"""Restore the site's default model after the test: the first connected model becomes the default."""

	def restore():
		frappe.set_user("Administrator")
		frappe.db.rollback()
		frappe.db.set_single_value("Huf Settings", "default_model", default)
		frappe.db.commit()

	default = frappe.db.get_single_value("Huf Settings", "default_model")
	test.addCleanup(restore)
