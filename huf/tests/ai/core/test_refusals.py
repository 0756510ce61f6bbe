import frappe

from huf.ai.core.errors import UsageError
from huf.ai.core.refusals import read_refusal
from huf.ai.core.session import acting_as
from huf.tests.base import SiteTestCase
from huf.tests.factories import make_user


class TestRefusals(SiteTestCase):
	def test_missing_permission_is_named_in_plain_text(self):
		with acting_as(make_user("Huf User")), self.assertRaises(frappe.PermissionError) as refused:
			frappe.has_permission("Agent", "write", throw=True)
		self.assertEqual(read_refusal(refused.exception), "No permission for Agent")
		self.assertEqual(read_refusal(frappe.PermissionError("Not <b>yours</b>")), "Not yours")

	def test_text_of_another_permission_is_not_taken_for_that_of_this_error(self):
		frappe.flags.error_message = "No permission for Note"
		self.assertEqual(read_refusal(UsageError("")), "")
		self.assertEqual(read_refusal(frappe.PermissionError("Ask <a>Eva</a> & co")), "Ask Eva & co")
