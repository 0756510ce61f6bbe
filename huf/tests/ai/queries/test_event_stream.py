"""The events of a run are replayed for readers who join later; permission checks are left to the caller."""

import frappe

from huf.ai.chat import approvals
from huf.ai.core.events import EventKind
from huf.ai.core.session import acting_as
from huf.ai.queries.event_stream import follow_run_events
from huf.ai.storage import retention
from huf.ai.storage.drafts import read_draft
from huf.ai.storage.events import NUMBERS_PER_ATTEMPT
from huf.tests.drafting import DraftTestCase
from huf.tests.factories import make_user
from huf.tests.model_server import text


class TestEventStream(DraftTestCase):
	def test_run_without_cached_events_is_replayed_without_a_permission_check(self):
		run = self.start(text("Hello."))["run"]
		with acting_as(make_user()):
			events = list(follow_run_events(run, after=9 * NUMBERS_PER_ATTEMPT))
		self.assertEqual([events[0].kind, events[-1].kind], [EventKind.RUN_STARTED, EventKind.RUN_FINISHED])
		self.assertEqual(events[-1].data["response"], "Hello.")

	def test_run_whose_contents_retention_has_blanked_is_replayed_to_its_end(self):
		run = self.start(text("Hello."))["run"]
		retention.blank_runs([run])
		frappe.db.commit()
		events = list(follow_run_events(run, after=9 * NUMBERS_PER_ATTEMPT))
		self.assertEqual(events[-1].kind, EventKind.RUN_FINISHED)

	def test_stream_of_a_resumed_run_ends_at_its_current_state(self):
		run = self.start(self.change("new"), self.change("newer"), text("Done."))["run"]
		for last in (EventKind.RUN_WAITING, EventKind.RUN_WAITING, EventKind.RUN_FINISHED):
			events = [each for each in follow_run_events(run) if each]
			self.assertEqual(events[-1].kind, last)
			if last is EventKind.RUN_WAITING:
				draft = read_draft(events[-1].data["draft"])
				self.assertEqual(draft.status, "Pending")
				approvals.approve_call(draft.name, draft.digest)
				self.go_on(run)
		self.assertEqual(events[-1].data["response"], "Done.")
