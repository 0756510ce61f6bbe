"""Workers killed at every commit on both sides of a person's answer: one draft, and the call made once."""

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
from huf.tests.model_server import ModelServer, text, tool_call


@unittest.skipUnless(hasattr(os, "fork"), "workers are forked")
class TestCrashDrafts(SiteTestCase):
	def setUp(self):
		super().setUp()

	def test_a_run_killed_at_any_commit_has_one_draft_and_makes_one_call(self):
		with ModelServer(strict=False) as server:
			self.agent = self.make_agent(server)
			asking, doing = self.story()
			self.assertGreater(min(asking, doing), 3)
			for when in ("before", "after"):
				for number in range(1, asking + 1):
					with self.subTest(f"{when} commit {number} of {asking}, before the answer"):
						self.story(asking=(number, when))
				for number in range(1, doing + 1):
					with self.subTest(f"{when} commit {number} of {doing}, after the answer"):
						self.story(doing=(number, when))

	def story(self, asking=(0, "before"), doing=(0, "before")) -> tuple[int, int]:
		"""A run to its draft and after its answer, each with a worker that is killed at a commit (0: is not)."""
		frappe.db.rollback()
		session, before = frappe.generate_hash(length=8), self.made()
		run = start_run(
			AgentRequest(self.agent, "Do it", "Administrator", channel="crash", external_id=session),
			RunStatus.QUEUED,
		).name
		first = self.work(run, *asking)
		frappe.db.rollback()
		(draft,) = frappe.get_all("Agent Draft", {"run": run}, ["name", "digest", "status"], order_by="name")
		self.assertEqual((draft.status, self.status(run), self.made()), ("Pending", "Waiting", before))
		approve_call(draft.name, draft.digest)
		second = self.work(run, *doing)
		frappe.db.rollback()
		self.assertEqual((self.status(run), self.made()), ("Success", before + 1))
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

	def made(self) -> int:
		return frappe.db.count("Note", {"title": ["like", "%crash draft%"]})

	def make_agent(self, server) -> str:
		note = make_tool("Create Document", reference_doctype="Note", requires_approval=1)

		def answer(request):
			done = any(message["role"] == "tool" for message in request["messages"])
			return text("Done.") if done else tool_call(note, {"title": "crash draft", "content": "a"})

		server.forever(answer)
		return make_agent(make_model(server), (note,), persist_conversation=0)
