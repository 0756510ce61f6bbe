"""Filters, sort orders and error responses reveal no values that the user may not read."""

import json
from urllib.parse import urlencode

import frappe

from huf.tests.base import SiteTestCase
from huf.tests.security.clients import Client, give_api_key, stricter_than_frappe

PRIVATE_TEXTS = (
	("Agent Run", "prompt"),
	("Agent Conversation", "title"),
	("Agent Message", "content"),
	("Agent Memory", "fact"),
)


class TestHiddenValues(SiteTestCase):
	@classmethod
	def setUpClass(cls):
		super().setUpClass()
		cls.owner, cls.other, cls.manager = Client("Huf User"), Client("Huf User"), Client("System Manager")
		cls.secret = frappe.generate_hash(length=12)
		todo = {"description": cls.secret, "assigned_by": cls.owner.user}
		cls.name = cls.owner.send("/api/resource/ToDo", "POST", json=todo).json["data"]["name"]
		cls.key = give_api_key("Administrator").partition(":")[0]
		cls.addClassCleanup(cls.remove_api_key)

	@staticmethod
	def remove_api_key():
		frappe.db.set_value("User", "Administrator", "api_key", None)
		frappe.db.commit()

	def call(self, client: Client, method: str, **arguments):
		arguments = {key: json.dumps(value) for key, value in arguments.items()}
		arguments = {key: value.strip('"') for key, value in arguments.items()}
		return client.send(f"/api/method/frappe.client.{method}?{urlencode(arguments)}")

	def rows(self, client: Client, doctype: str, **arguments):
		query = urlencode({key: json.dumps(value).strip('"') for key, value in arguments.items()})
		return client.send(f"/api/resource/{doctype}?{query}")

	def test_between_filters_return_no_texts_of_other_users(self):
		"""Frappe 15 drops the upper bound of such filters, and the permission condition takes its place."""
		for doctype, fieldname in PRIVATE_TEXTS:
			frappe.new_doc(doctype, **{fieldname: self.secret}).insert(ignore_mandatory=True)
			frappe.db.commit()
			filters = {fieldname: ["between", [self.secret, self.secret]]}
			with self.subTest(doctype):
				answer = self.rows(self.other, doctype, filters=filters)
				self.assertIn(
					(answer.status_code, answer.json.get("data")), [(200, []), (403, None), (417, None)]
				)

	def test_texts_of_other_users_are_neither_counted_nor_revealed_by_errors(self):
		manager = Client("Huf Manager")
		for doctype, fieldname in PRIVATE_TEXTS:
			frappe.new_doc(doctype, **{fieldname: self.secret}).insert(ignore_mandatory=True)
			frappe.db.commit()
			matching, not_matching = {fieldname: ["like", self.secret[:3] + "%"]}, {fieldname: "no such text"}
			with self.subTest(doctype):
				for filters in (matching, not_matching):
					answer = self.call(self.other, "get_count", doctype=doctype, filters=filters)
					self.assertEqual((answer.status_code, answer.json["message"]), (200, 0))
					answer = self.call(self.other, "get", doctype=doctype, filters=filters)
					self.assertEqual(answer.status_code, 404)
				answer = self.call(manager, "get_count", doctype=doctype, filters=matching)
				self.assertGreaterEqual(answer.json["message"], 1)
				answer = self.call(manager, "get", doctype=doctype, filters=matching)
				self.assertEqual(answer.json["message"][fieldname], self.secret)

	@stricter_than_frappe
	def test_filters_on_hidden_documents_respond_as_if_nothing_matched(self):
		for filters in ({"description": self.secret}, {"description": ["like", self.secret[:3] + "%"]}):
			matching = self.call(self.other, "get", doctype="ToDo", filters=filters)
			not_matching = self.call(
				self.other, "get", doctype="ToDo", filters={"description": "no such text"}
			)
			self.assertEqual((matching.status_code, not_matching.status_code), (404, 404))
			self.assertEqual(matching.json.keys(), not_matching.json.keys())

	def test_the_owner_finds_a_document_by_a_filter(self):
		found = self.call(self.owner, "get", doctype="ToDo", filters={"description": self.secret})
		self.assertEqual(found.json["message"]["name"], self.name)

	@stricter_than_frappe
	def test_secret_and_restricted_fields_cannot_be_filtered_or_sorted_by(self):
		secrets = ("api_key", "api_secret", "new_password", "reset_password_key")
		for client in (self.other, self.manager):
			for field in secrets:
				for arguments in (
					{"filters": {field: self.key}},
					{"filters": [["User", field, "like", f"{self.key[:2]}%"]]},
					{"or_filters": {field: self.key}},
					{"order_by": f"{field} asc"},
					{"order_by": f"`tabUser`.`{field}` desc"},
				):
					with self.subTest(field=field, **arguments):
						answer = self.rows(client, "User", **arguments)
						self.assertEqual(answer.status_code, 417, answer.text)
						self.assertNotIn("Administrator", answer.text)
				counted = self.call(client, "get_count", doctype="User", filters={field: self.key})
				self.assertEqual(counted.status_code, 417)
		answer = self.rows(self.other, "User", filters={"user_type": "System User"})
		self.assertEqual(answer.status_code, 417, answer.text)
		answer = self.rows(self.manager, "User", filters={"user_type": "System User"})
		self.assertEqual(answer.status_code, 200, answer.text)

	@stricter_than_frappe
	def test_a_user_is_not_found_by_the_api_key(self):
		found = self.call(self.other, "get", doctype="User", filters={"api_key": self.key})
		missed = self.call(self.other, "get", doctype="User", filters={"api_key": "wrong"})
		self.assertEqual(found.status_code, missed.status_code)
		self.assertNotEqual(found.status_code, 200)

	def test_an_unknown_filter_field_returns_a_client_error(self):
		answer = self.rows(self.owner, "ToDo", filters={"no_such": 1})
		self.assertEqual(answer.status_code, 417)
		answer = self.rows(self.owner, "ToDo", order_by="no_such asc")
		self.assertIn(answer.status_code, (403, 417, 500), "500: Frappe 15 passes the database's error on")
