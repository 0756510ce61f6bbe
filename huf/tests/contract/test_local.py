"""What of `frappe.local` may be put in place of itself."""

import frappe

from huf.tests.base import SiteTestCase


class TestLocal(SiteTestCase):
	def test_session_and_flags_can_be_copied_and_the_copies_put_in_their_place(self):
		session, flags = frappe.local.session, frappe.local.flags
		self.addCleanup(setattr, frappe.local, "session", session)
		self.addCleanup(setattr, frappe.local, "flags", flags)
		frappe.local.session, frappe.local.flags = session.copy(), flags.copy()
		session.user, flags.huf_test_flag = "Guest", True
		self.assertEqual((frappe.session.user, frappe.flags.huf_test_flag), ("Administrator", None))
		session.user = "Administrator"
		del flags["huf_test_flag"]
