"""Work whose job the queue refuses is on record, and recovery enqueues it."""

from unittest.mock import patch

import frappe
from frappe.utils import background_jobs
from frappe.utils.background_jobs import is_job_enqueued

from huf.ai.core.session import acting_as
from huf.ai.storage.trigger_events import read_trigger_event
from huf.ai.triggers.dispatch import event_job_id
from huf.ai.triggers.runs import recover_events
from huf.tests.triggers import TriggerTestCase, events_of, todo


def overloaded(*_args, **_kwargs):
	frappe.throw("Too many queued background jobs. Please retry after some time.")


def unreachable(*_args, **_kwargs):
	raise ConnectionError("Error 111 connecting to 127.0.0.1:11000. Connection refused.")


class TestRefusedJobs(TriggerTestCase):
	def test_save_succeeds_when_the_queue_refuses_and_its_event_is_enqueued_later(self):
		for refuse in (overloaded, unreachable):
			with self.subTest(refuse.__name__):
				self.check_save(refuse)

	def check_save(self, refuse):
		trigger = self.trigger()
		with patch.object(background_jobs, "get_queue", refuse):
			with acting_as(self.user):
				todo()
			frappe.db.commit()
			self.assertEqual(list(frappe.local.message_log), [])
			(event,) = [each.name for each in events_of(trigger)]
			frappe.db.set_value("Agent Trigger Event", event, "creation", "2020-01-01 00:00:00")
			frappe.db.commit()
			self.assertNotIn(event, recover_events())
		self.assertEqual(read_trigger_event(event).attempts, 0, "a refused job does not count as an attempt")
		self.assertIn(event, recover_events())
		self.assertTrue(is_job_enqueued(event_job_id(event, 1)))
