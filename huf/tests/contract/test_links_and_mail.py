"""The format of password reset links and of queued mails."""

import hashlib

import frappe

from huf.tests.base import SiteTestCase
from huf.tests.factories import make_user
from huf.tests.mail import make_outgoing_account


class TestLinksAndMail(SiteTestCase):
	def test_the_key_of_a_password_reset_link_is_stored_as_sha256(self):
		user = frappe.get_doc("User", make_user("Huf User"))
		link = (getattr(user, "_reset_password", None) or user.reset_password)()
		key = link.partition("/update-password?key=")[2]
		fields = ["reset_password_key", "last_reset_password_key_generated_on"]
		stored, generated = frappe.db.get_value("User", user.name, fields)
		self.assertEqual(stored, hashlib.sha256(key.encode()).hexdigest())
		self.assertTrue(generated)

	def test_a_field_of_type_email_refuses_what_is_no_address(self):
		for sender, is_valid in (
			("Anna <anna.o'neil+huf@mail.example.com>", True),
			("anna@example", False),
			("anna@----.com", False),
			("anna@müller.example", False),
			("änna@example.com", False),
		):
			todo = frappe.get_doc({"doctype": "ToDo", "description": "A task", "sender": sender})
			with self.subTest(sender):
				if is_valid:
					self.assertTrue(todo.insert().name)
				else:
					self.assertRaises(frappe.InvalidEmailAddressError, todo.insert)

	def test_sendmail_adds_an_email_queue_row_with_recipients(self):
		make_outgoing_account()
		address = f"{frappe.generate_hash(length=10)}@example.com"
		frappe.sendmail(recipients=[address], subject="A subject", message="<p>Words</p>")
		(parent,) = frappe.get_all("Email Queue Recipient", {"recipient": address}, pluck="parent")
		message = frappe.db.get_value("Email Queue", parent, "message")
		self.assertIn("Subject: A subject", message)
		self.assertIn("Words", message)
