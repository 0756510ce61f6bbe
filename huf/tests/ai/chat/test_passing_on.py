"""Overdue drafts are reassigned to a deputy or the configured user, who is notified."""

import frappe
from frappe.utils import add_to_date, now_datetime, today

from huf.ai.chat import approvals
from huf.ai.chat.passing_on import pass_on_drafts
from huf.ai.core.session import acting_as
from huf.ai.storage.users import list_users_with_role
from huf.api.profile import save_profile
from huf.tests.doctypes import EDITOR
from huf.tests.drafting import DraftTestCase
from huf.tests.factories import make_user


class TestPassingOn(DraftTestCase):
	def setUp(self):
		super().setUp()
		self.approver, self.deputy, self.named = (make_user("Huf User", EDITOR) for _ in range(3))
		self.agent = self.make_agent(self.update, approver=self.approver)
		self.change_settings(pass_on_hours=4, pass_on_to=self.named)
		self.addCleanup(self.change_settings, pass_on_hours=0, pass_on_to=None)

	def change_settings(self, **values):
		frappe.db.rollback()
		frappe.get_doc("Huf Settings").update(values).save()
		frappe.db.commit()

	def pass_on(self, draft, hours: float = 5) -> bool:
		frappe.set_user("Administrator")
		return draft.name in pass_on_drafts(add_to_date(now_datetime(), hours=hours, as_datetime=True))

	def get_approvers(self, draft):
		return frappe.db.get_value("Agent Draft", draft.name, ["approver", "passed_on_from"])

	def list_notices(self, user: str, run: str) -> list[str]:
		filters = {"for_user": user, "document_name": run}
		return frappe.get_all("Notification Log", filters, pluck="subject", order_by="creation asc")

	def test_overdue_draft_is_reassigned_once_to_the_configured_user(self):
		draft = self.draft(self.start_change())
		self.assertFalse(self.pass_on(draft, hours=3))
		self.assertTrue(self.pass_on(draft))
		self.assertEqual(self.get_approvers(draft), (self.named, self.approver))
		(subject,) = self.list_notices(self.named, draft.run)
		self.assertIn(self.agent, subject)
		self.assertFalse(self.pass_on(draft, hours=9), "once only")
		with acting_as(self.approver), self.assertRaises(frappe.PermissionError):
			approvals.approve_call(draft.name, draft.digest)
		with acting_as(self.named):
			self.assertEqual(approvals.approve_call(draft.name, draft.digest)["status"], "Approved")

	def test_deputy_of_the_approver_precedes_the_configured_user(self):
		with acting_as(self.approver):
			save_profile("Anna", deputy=self.deputy, away_until=str(add_to_date(today(), days=-1)))
		draft = self.draft(self.start_change())
		self.pass_on(draft)
		self.assertEqual(self.get_approvers(draft), (self.deputy, self.approver))

	def test_draft_without_a_configured_user_notifies_all_managers(self):
		manager = make_user("Huf User", "Huf Manager")
		self.change_settings(pass_on_to=None)
		draft = self.draft(self.start_change())
		self.pass_on(draft)
		self.assertEqual(self.get_approvers(draft), (None, self.approver))
		self.assertIn(manager, list_users_with_role("Huf Manager"))
		self.assertTrue(self.list_notices(manager, draft.run))

	def test_draft_is_not_reassigned_to_the_user_of_its_run(self):
		self.change_settings(pass_on_to=self.user)
		draft = self.draft(self.start_change())
		self.pass_on(draft)
		self.assertIsNone(self.get_approvers(draft)[0])

	def test_drafts_are_not_reassigned_without_configured_hours(self):
		self.change_settings(pass_on_hours=0)
		self.assertFalse(self.pass_on(self.draft(self.start_change()), hours=50))

	def test_notification_is_in_the_language_of_the_new_approver(self):
		frappe.db.set_value("User", self.named, "language", "de")
		frappe.clear_document_cache("User", self.named)
		draft = self.draft(self.start_change())
		self.pass_on(draft)
		self.assertIn("wartet auf Ihre Freigabe", self.list_notices(self.named, draft.run)[0])
