"""Workers killed at every commit before and after an approval: one draft, and the call is made once."""

import os
import unittest

import frappe

from huf.ai.chat.approvals import approve_call
from huf.ai.core.types import AgentRequest, RunStatus
from huf.ai.runs.start import start_run
from huf.tests.base import SiteTestCase
from huf.tests.crash.killer import run_worker
from huf.tests.crash.test_crash import LATER
from huf.tests.factories import make_agent, make_model, make_tool
from huf.tests.model_server import ModelServer, slow, text, tool_call


@unittest.skipUnless(hasattr(os, "fork"), "workers are forked")
class TestCrashDrafts(SiteTestCase):
	def setUp(self):
		super().setUp()
		self.delay_s = 0.0

	def test_a_slow_model_adds_no_kill_points(self):
		with ModelServer(strict=False) as server:
			self.agent = self.make_agent(server)
			self.run_to_end()
			commits = self.run_to_end()
			self.delay_s = 0.7
			self.assertEqual(self.run_to_end(), commits)

	def test_a_run_killed_at_any_commit_has_one_draft_and_makes_one_call(self):
		with ModelServer(strict=False) as server:
			self.agent = self.make_agent(server)
			# The first run may find work that other tests have left.
			self.run_to_end()
			before_approval, after_approval = self.run_to_end()
			self.assertGreater(min(before_approval, after_approval), 3)
			for when in ("before", "after"):
				for number in range(1, before_approval + 1):
					with self.subTest(f"{when} commit {number} of {before_approval}, before approval"):
						self.run_to_end(before_approval=(number, when))
				for number in range(1, after_approval + 1):
					with self.subTest(f"{when} commit {number} of {after_approval}, after approval"):
						self.run_to_end(after_approval=(number, when))

	def run_to_end(self, before_approval=(0, "before"), after_approval=(0, "before")) -> tuple[int, int]:
		"""Run to the draft, approve, run to the end; each worker is killed at a commit (0: not killed)."""
		frappe.db.rollback()
		session, before = frappe.generate_hash(length=8), self.count_notes()
		run = start_run(
			AgentRequest(self.agent, "Do it", "Administrator", channel="crash", external_id=session),
			RunStatus.QUEUED,
		).name
		first = self.work(run, *before_approval)
		frappe.db.rollback()
		(draft,) = frappe.get_all("Agent Draft", {"run": run}, ["name", "digest", "status"], order_by="name")
		self.assertEqual((draft.status, self.status(run), self.count_notes()), ("Pending", "Waiting", before))
		approve_call(draft.name, draft.digest)
		second = self.work(run, *after_approval)
		frappe.db.rollback()
		self.assertEqual((self.status(run), self.count_notes()), ("Success", before + 1))
		self.assertEqual(frappe.db.get_value("Agent Draft", draft.name, "status"), "Applied")
		return first["commits"], second["commits"]

	def work(self, run: str, kill_at: int, when: str) -> dict:
		ended = run_worker(run=run, kill_at=kill_at, when=when, later=0)
		if kill_at:
			self.assertTrue(ended["killed"])
			run_worker(run=run, kill_at=0, when=when, later=LATER)
		return ended

	def status(self, run: str) -> str:
		return frappe.db.get_value("Agent Run", run, "status")

	def count_notes(self) -> int:
		return frappe.db.count("Note", {"title": ["like", "%crash draft%"]})

	def make_agent(self, server) -> str:
		note = make_tool("Create Document", reference_doctype="Note", requires_approval=1)

		def answer(request):
			done = any(message["role"] == "tool" for message in request["messages"])
			reply = text("Done.") if done else tool_call(note, {"title": "crash draft", "content": "a"})
			return slow(self.delay_s, reply)

		server.forever(answer)
		return make_agent(make_model(server), (note,), persist_conversation=0)
