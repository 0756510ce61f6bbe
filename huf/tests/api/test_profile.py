"""A user's own profile: name, language, default agent, password and sessions; fields of agents."""

import json
import sys
import unittest

import frappe
from frappe.utils.password import check_password

from huf.ai.core.errors import UsageError
from huf.ai.core.session import acting_as
from huf.api import agent, profile
from huf.tests.base import SiteTestCase
from huf.tests.factories import make_agent, make_user


class TestProfile(SiteTestCase):
	def setUp(self):
		super().setUp()
		self.user = make_user("Huf User")
		self.agent = make_agent(instructions="SECRET-INSTRUCTIONS")
		frappe.db.commit()

	def default(self) -> list[str]:
		return [each["name"] for each in agent.get_agents() if each["is_default"]]

	def test_users_save_their_own_profile_with_validated_values(self):
		with acting_as(self.user):
			for nobody in (self.user, "Guest", "nobody@example.com"):
				self.assertRaises(frappe.ValidationError, profile.save_profile, "Jana", deputy=nobody)
			saved = profile.save_profile("Jana", "Nová", "cs", self.agent)
			self.assertEqual((saved["first_name"], saved["language"]), ("Jana", "cs"))
			self.assertEqual(self.default(), [self.agent])
			self.assertRaises(UsageError, profile.save_profile, "Jana", language="xx")
		self.assertEqual(frappe.db.get_value("User", self.user, "full_name"), "Jana Nová")
		with acting_as("Guest"):
			self.assertRaises(frappe.PermissionError, profile.get_profile)

	def test_a_password_needs_the_old_one(self):
		old = self.set_password()
		with acting_as(self.user):
			self.assertRaises(UsageError, profile.change_password, "wrong", "another-good-phrase-8")
			profile.change_password(old, "another-good-phrase-8")
		self.assertEqual(check_password(self.user, "another-good-phrase-8"), self.user)

	def test_old_password_cannot_be_found_out_by_trying(self):
		old = self.set_password()
		with acting_as(self.user):
			for _ in range(profile.MAX_WRONG_PASSWORDS):
				with self.assertRaisesRegex(UsageError, "The old password is wrong"):
					profile.change_password("wrong", "another-good-phrase-8")
			with self.assertRaisesRegex(UsageError, "Too many wrong passwords"):
				profile.change_password(old, "another-good-phrase-8")
		self.assertEqual(check_password(self.user, old), self.user)

	@unittest.skipUnless("huf.embedded" in sys.modules, "Frappe judges no passwords while tests run")
	def test_weak_password_is_refused_by_the_policy(self):
		old = self.set_password()
		with acting_as(self.user):
			self.assertRaises(frappe.ValidationError, profile.change_password, old, "anna")
		values = {"email": "anna@example.com", "first_name": "Anna", "new_password": "anna"}
		self.assertRaises(frappe.ValidationError, frappe.get_doc({"doctype": "User", **values}).insert)

	def set_password(self) -> str:
		user = frappe.get_doc("User", self.user)
		user.new_password = password = "correct-horse-battery-7"
		user.save()
		return password

	def test_default_agent_is_the_site_setting_or_the_oldest_agent(self):
		make_agent(agent_name=f"AAA {frappe.generate_hash(length=6)}")
		oldest = frappe.db.get_value("Agent", {"disabled": 0, "allow_chat": 1}, order_by="creation asc")
		self.assertEqual(self.default(), [oldest])
		settings = frappe.get_doc("Huf Settings")
		settings.default_agent = self.agent
		settings.save()
		self.assertEqual(self.default(), [self.agent])
		frappe.db.rollback()

	def test_huf_users_see_agents_but_not_their_instructions_and_settings(self):
		frappe.db.set_value("Agent", self.agent, "caution", "Off")
		restricted = make_agent(roles=[{"role": "System Manager"}])
		with acting_as(self.user):
			names = [each["name"] for each in agent.get_overview()]
			self.assertIn(self.agent, names)
			self.assertNotIn(restricted, names)
			doc = frappe.get_doc("Agent", self.agent)
			doc.apply_fieldlevel_read_permissions()
			self.assertEqual((doc.get("instructions"), doc.get("caution")), (None, None))
			self.assertEqual(doc.agent_name, self.agent)
			self.assertNotIn("SECRET", str(frappe.get_list("Agent", fields=["*"], order_by="name asc")))
		manager = make_user("Huf Manager")
		with acting_as(manager):
			self.assertIn(restricted, [each["name"] for each in agent.get_overview()])
			doc = frappe.get_doc("Agent", self.agent)
			doc.apply_fieldlevel_read_permissions()
			self.assertEqual((doc.instructions, doc.caution), ("SECRET-INSTRUCTIONS", "Off"))
			doc.instructions = "New"
			doc.save()
		self.assertEqual(frappe.db.get_value("Agent", self.agent, "instructions"), "New")


class TestSessions(SiteTestCase):
	"""Rows of tabSessions, which both runtimes have; the embedded runtime stores digests of session ids."""

	def insert_session(self, user: str, sid: str, address: str) -> None:
		data = json.dumps({"user": user, "session_ip": address})
		frappe.db.sql(
			"insert into `tabSessions` (sid, `user`, sessiondata, lastupdate) values (%s, %s, %s, %s)",
			(sid, user, data, frappe.utils.now()),
		)
		self.addCleanup(frappe.db.sql, "delete from `tabSessions` where `user` = %s", user)

	def test_users_see_and_end_their_own_sessions_only(self):
		user, other = make_user("Huf User"), make_user("Huf User")
		self.insert_session(user, "one-" + user, "203.0.113.7")
		self.insert_session(user, "two-" + user, "2001:db8::7")
		self.insert_session(other, "one-" + other, "203.0.113.8")
		with acting_as(user):
			sessions = profile.get_sessions()
			self.assertEqual({each["address"] for each in sessions}, {"203.0.113.7", "2001:db8::7"})
			self.assertEqual([each["is_current"] for each in sessions], [False, False])
			self.assertEqual(set(sessions[0]), {"id", "last_used", "address", "is_current"})
			names = {each["address"]: each["id"] for each in sessions}
			self.assertNotIn("one-" + user, str(sessions))
			left = profile.end_session(names["203.0.113.7"])
			self.assertEqual([each["address"] for each in left], ["2001:db8::7"])
			self.assertRaises(UsageError, profile.end_session, names["203.0.113.7"])
			self.assertRaises(UsageError, profile.end_session, "two-" + user)
			with acting_as(other):
				self.assertRaises(UsageError, profile.end_session, names["2001:db8::7"])
			self.assertEqual(profile.end_other_sessions(), [])
		with acting_as(other):
			self.assertEqual(len(profile.get_sessions()), 1)
		with acting_as("Guest"):
			self.assertRaises(frappe.PermissionError, profile.get_sessions)
			self.assertRaises(frappe.PermissionError, profile.end_other_sessions)
			self.assertRaises(frappe.PermissionError, profile.end_session, "x")
