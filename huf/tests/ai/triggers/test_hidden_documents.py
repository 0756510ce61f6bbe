"""Document events show nothing that the user of the run may not read."""

import json

import frappe

from huf.ai.core.session import acting_as
from huf.tests.doctypes import CASE, make_doctypes
from huf.tests.factories import make_user
from huf.tests.triggers import TriggerTestCase, events_of


class TestHiddenDocuments(TriggerTestCase):
	def test_managers_trigger_shows_nothing_of_a_document_that_an_app_saves_for_a_user_who_may_not_read_it(
		self,
	):
		make_doctypes()
		manager = make_user("Huf Manager")
		with acting_as(manager):
			trigger = self.trigger(
				reference_doctype=CASE, doc_event="after_insert", prompt="{{ doc.title }}", run_as=None
			)
		with acting_as(self.user):
			self.assertFalse(frappe.has_permission(CASE, "read"))
			frappe.get_doc({"doctype": CASE, "title": "Secret roof"}).insert(ignore_permissions=True)
		(event,) = events_of(trigger)
		self.assertEqual(event.status, "Skipped")
		self.assertNotIn("Secret roof", json.dumps(event, default=str))
