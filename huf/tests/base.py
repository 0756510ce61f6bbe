"""What every test that needs a site starts from.

Runs on both homes; what a test commits, it names uniquely.
"""

import os
import unittest
from contextlib import AbstractContextManager
from typing import Any

os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")

import frappe

from huf.ai.providers.litellm_module import load


class SiteTestCase(unittest.TestCase):
	"""Begins as Administrator with nothing open, and ends so."""

	@classmethod
	def setUpClass(cls):
		super().setUpClass()
		# Calls of models are then checked in this process: a child for each scripted server would take seconds.
		load()

	def setUp(self):
		frappe.set_user("Administrator")
		frappe.db.rollback()
		frappe.local.message_log = []
		allow_many_users()

	def tearDown(self):
		frappe.db.rollback()
		frappe.set_user("Administrator")

	@classmethod
	def tearDownClass(cls):
		remove_jobs()


def allow_many_users():
	"""Frappe lets a site make 60 users an hour; these tests make more."""
	frappe.local.conf["throttle_user_limit"] = 100_000


def end_open_runs():
	"""End runs that other tests left open. A bench's site keeps them, and a worker looks at 100 at a time."""
	left = {"status": ["in", ["Queued", "Started", "Waiting"]]}
	frappe.db.set_value("Agent Run", left, "status", "Cancelled", update_modified=False)
	frappe.db.commit()


def remove_jobs():
	"""Take what tests have queued out of a bench's queues: a full queue refuses more, and workers would run it."""
	try:
		from frappe.utils.background_jobs import get_queues
	except ImportError:
		return  # an embedded site has a queue of its own
	for queue in get_queues():
		for job_id in queue.get_job_ids():
			if job_id.startswith((f"{frappe.local.site}::", f"{frappe.local.site}||")):
				queue.remove(job_id)


def enter(test: unittest.TestCase | type[unittest.TestCase], context: AbstractContextManager) -> Any:
	"""Be in a context until a test, or a class of them, has ended (`enterContext` is not in Python 3.10)."""
	entered = context.__enter__()
	(test.addClassCleanup if isinstance(test, type) else test.addCleanup)(context.__exit__, None, None, None)
	return entered


def keep_default_model(test: unittest.TestCase):
	"""Give the site its default model back after a test: the first that is connected becomes it."""

	def restore():
		frappe.set_user("Administrator")
		frappe.db.rollback()
		frappe.db.set_single_value("Huf Settings", "default_model", default)
		frappe.db.commit()

	default = frappe.db.get_single_value("Huf Settings", "default_model")
	test.addCleanup(restore)
