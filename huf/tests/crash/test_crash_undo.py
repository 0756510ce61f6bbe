"""Workers killed at every commit of an undo: it is applied completely or not at all."""

import json
import os
import unittest

import frappe

from huf.ai.undo.capture import read_stored_image
from huf.ai.undo.scope import UndoSelection
from huf.ai.undo.undo import apply_undo, preview_undo
from huf.tests.ai.undo.runs import Worker
from huf.tests.base import SiteTestCase, enter
from huf.tests.crash.killer import run_worker
from huf.tests.doctypes import CASE, ORDER, make_case, make_doctypes, make_order
from huf.tests.model_server import ModelServer


@unittest.skipUnless(hasattr(os, "fork"), "workers are forked")
class TestCrashUndo(SiteTestCase):
	def setUp(self):
		super().setUp()
		make_doctypes()
		self.worker = Worker(enter(self, ModelServer(strict=False)), (CASE, ORDER))

	def test_an_undo_killed_at_any_commit_is_complete_or_not_applied(self):
		commits = self.run_and_undo(0, "before")
		self.assertGreater(commits, 0)
		for when in ("before", "after"):
			for number in range(1, commits + 1):
				with self.subTest(f"{when} commit {number} of {commits}"):
					self.run_and_undo(number, when)

	def run_and_undo(self, kill_at: int, when: str) -> int:
		"""Run an update, a deletion and a cancellation; the undo is killed at a commit (0: not killed)."""
		self.case, self.gone, self.submitted = make_case(amount=1), make_order("nail"), make_order("bolt")
		self.submitted.submit()
		frappe.db.commit()
		before = self.state()
		run = self.worker.run(
			("Update Document", CASE, {"name": self.case.name, "values": {"amount": 2}}),
			("Delete Document", ORDER, {"name": self.gone.name}),
			("Cancel Document", ORDER, {"name": self.submitted.name}),
		)
		changed = self.state()
		digest = preview_undo(UndoSelection((run,)))["digest"]
		ended = run_worker(undo=run, digest=digest, kill_at=kill_at, when=when)
		frappe.db.rollback()
		undone = frappe.db.count("Agent Change", {"run": run, "undone_by": ["is", "set"]})
		self.assertIn((undone, self.state()), [(0, changed), (3, before)])
		self.assertEqual(ended["killed"], bool(kill_at))
		if not undone:
			apply_undo(UndoSelection((run,)), preview_undo(UndoSelection((run,)))["digest"])
		self.assertEqual(self.state(), before)
		self.assertEqual(frappe.db.count("Agent Change", {"run": run, "undone_by": ["is", "set"]}), 3)
		return ended["commits"]

	def state(self) -> str:
		frappe.db.rollback()
		in_effect = frappe.db.count(ORDER, {"amended_from": self.submitted.name, "docstatus": 1})
		in_effect += frappe.db.get_value(ORDER, self.submitted.name, "docstatus") == 1
		images = [
			read_stored_image(CASE, self.case.name),
			read_stored_image(ORDER, self.gone.name),
			in_effect,
		]
		return json.dumps(images, sort_keys=True, default=str)
