"""User management: invitations by link or mail, roles, disabling, and the agents that a user may run."""

import hashlib
from email import message_from_string

import frappe

from huf.ai.core.errors import UsageError
from huf.ai.core.session import acting_as
from huf.ai.queries.audit import read_audit
from huf.api import people
from huf.tests.base import SiteTestCase
from huf.tests.factories import make, make_agent, make_role, make_user
from huf.tests.mail import make_outgoing_account


class TestPeople(SiteTestCase):
	def setUp(self):
		super().setUp()
		self.manager = make_user("System Manager")
		self.user = make_user("Huf User")
		self.address = f"{frappe.generate_hash(length=10)}@example.com"

	def invite(self, **values) -> dict:
		with acting_as(self.manager):
			return people.invite(self.address, "Eva", "Malá", **values)

	def stored_key(self, user: str) -> str:
		return frappe.db.get_value("User", user, "reset_password_key")

	def digest_in(self, link: str) -> str:
		return hashlib.sha256(link.partition("/update-password?key=")[2].encode()).hexdigest()

	def test_only_system_managers_manage_people(self):
		for user in (self.user, make_user("Huf Manager"), "Guest"):
			with acting_as(user):
				self.assertRaisesRegex(frappe.PermissionError, "System Manager", people.get_people)
				self.assertRaises(frappe.PermissionError, people.invite, self.address, "Eva")
				self.assertRaises(frappe.PermissionError, people.make_link, user)
				self.assertRaises(frappe.PermissionError, people.save_person, user, ["System Manager"], 1)
				self.assertRaises(frappe.PermissionError, people.get_usable_agents, user)

	def test_invited_user_has_roles_a_link_and_an_audit_entry(self):
		start = frappe.utils.now_datetime()
		answer = self.invite(roles=["Huf User"])
		self.assertEqual(self.digest_in(answer["link"]), self.stored_key(self.address))
		person = answer["person"]
		self.assertEqual((person["roles"], person["invited_by"]), (["Huf User"], self.manager))
		self.assertEqual((person["full_name"], person["enabled"]), ("Eva Malá", 1))
		with acting_as(self.manager):
			listed = people.get_people(text=self.address)["people"]
			self.assertEqual(
				[(each["name"], each["roles"]) for each in listed], [(self.address, ["Huf User"])]
			)
			self.assertRaises(UsageError, people.invite, self.address, "Eva")
			self.assertRaises(UsageError, people.invite, "x@example.com", "Eva", roles=["Accounts Manager"])
			self.assertRaises(frappe.ValidationError, people.invite, "no address", "Eva")
		created = [each for each in read_audit(start, None, True) if each.get("name") == self.address]
		done = [(each["user"], each["action"]) for each in created]
		self.assertEqual(done, [(self.manager, "create"), (self.manager, "comment")])
		self.assertEqual(created[1]["text"], "A link for a new password was made.")

	def test_an_invitation_is_mailed_and_the_link_is_not_returned(self):
		make_outgoing_account()
		with acting_as(self.manager):
			self.assertTrue(people.get_people()["can_mail"])
		self.assertIsNone(self.invite(roles=["Huf User"], by_mail=1)["link"])
		recipient = frappe.get_all("Email Queue Recipient", {"recipient": self.address}, pluck="parent")
		self.assertEqual(len(recipient), 1)
		mail = message_from_string(frappe.db.get_value("Email Queue", recipient[0], "message"))
		texts = [str(part.get_payload(decode=True)) for part in mail.walk() if not part.is_multipart()]
		self.assertIn("/update-password?key", "".join(texts))

	def test_new_password_link_invalidates_the_previous_one(self):
		first = self.invite()["link"]
		with acting_as(self.manager):
			second = people.make_link(self.address)["link"]
		self.assertNotEqual(self.digest_in(first), self.stored_key(self.address))
		self.assertEqual(self.digest_in(second), self.stored_key(self.address))

	def test_save_person_changes_only_huf_roles_and_disabled_users_get_no_link(self):
		other = make_role()
		user = make_user("Huf User", other)
		with acting_as(self.manager):
			changed = people.save_person(user, ["Huf Manager"], 0)
			self.assertEqual((changed["roles"], changed["other_roles"]), (["Huf Manager"], [other]))
			self.assertFalse(frappe.db.get_value("User", user, "enabled"))
			self.assertRaises(UsageError, people.make_link, user)
			self.assertEqual(people.save_person(user, [], 1)["roles"], [])
			self.assertRaises(UsageError, people.save_person, user, [other], 1)

	def test_manager_cannot_lock_out_themselves_or_system_accounts(self):
		with acting_as(self.manager):
			self.assertRaises(UsageError, people.save_person, self.manager, ["System Manager"], 0)
			self.assertRaises(UsageError, people.save_person, self.manager, ["Huf User"], 1)
			self.assertEqual(
				people.save_person(self.manager, ["Huf User", "System Manager"], 1)["enabled"], 1
			)
			for user in ("Administrator", "Guest"):
				self.assertRaises(UsageError, people.save_person, user, [], 0)
				self.assertRaises(UsageError, people.make_link, user)
			self.assertNotIn("Administrator", [each["name"] for each in people.get_people()["people"]])

	def test_usable_agents_respect_roles_and_disabled_state(self):
		role = make_role()
		everyone, limited = make_agent(), make_agent(roles=[{"role": role}])
		disabled, other = make_agent(disabled=1), make_user("Huf User", role)
		with acting_as(self.manager):
			agents, others = people.get_usable_agents(self.user), people.get_usable_agents(other)
			nobody = people.get_usable_agents(make_user())
		self.assertEqual([name in agents for name in (everyone, limited, disabled)], [True, False, False])
		self.assertEqual([name in others for name in (everyone, limited, disabled)], [True, True, False])
		self.assertEqual([name in nobody for name in (everyone, limited)], [False, False])

	def test_list_of_people_is_paginated_and_searchable(self):
		prefix = frappe.generate_hash(length=8)
		for number in range(3):
			make("User", email=f"{prefix}{number}@example.com", first_name="Page", send_welcome_email=0)
		with acting_as(self.manager):
			self.assertEqual(len(people.get_people(text=prefix)["people"]), 3)
			rest = people.get_people(start=2, text=prefix)["people"]
		self.assertEqual([each["name"] for each in rest], [f"{prefix}2@example.com"])
