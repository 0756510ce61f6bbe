"""Changes by requests: permissions are checked on the stored document, and only fields are accepted."""

import json
from unittest import mock

import frappe

from huf.tests.base import SiteTestCase
from huf.tests.factories import make_agent, make_tool
from huf.tests.security.clients import Client, stricter_than_frappe


class TestChanges(SiteTestCase):
	@classmethod
	def setUpClass(cls):
		super().setUpClass()
		cls.owner, cls.other = Client("Huf User"), Client("Huf User")

	def create(self, client: Client, doctype: str, **values) -> str:
		answer = client.send(f"/api/resource/{doctype}", "POST", json=values)
		self.assertEqual(answer.status_code, 200, answer.text)
		return answer.json["data"]["name"]

	@stricter_than_frappe
	def test_changed_values_do_not_grant_permission_for_the_change(self):
		name = self.create(self.owner, "ToDo", description="mine", allocated_to=self.owner.user)
		for values in (
			{"allocated_to": self.other.user},
			{"assigned_by": self.other.user, "description": "taken"},
			{"owner": self.other.user, "description": "taken"},
		):
			with self.subTest(values):
				answer = self.other.send(f"/api/resource/ToDo/{name}", "PUT", json=values)
				self.assertEqual(answer.status_code, 403, answer.text)
		stored = frappe.db.get_value("ToDo", name, ["description", "allocated_to"])
		self.assertEqual(stored, ("mine", self.owner.user))

	@stricter_than_frappe
	def test_permission_of_a_sent_document_is_checked_on_the_stored_one(self):
		name = self.create(self.owner, "ToDo", description="mine", assigned_by=self.owner.user)
		doc = {"doctype": "ToDo", "name": name, "allocated_to": self.other.user, "owner": self.other.user}
		doc["modified"] = str(frappe.db.get_value("ToDo", name, "modified"))
		answer = self.other.send("/api/method/frappe.client.submit", "POST", json={"doc": json.dumps(doc)})
		self.assertEqual(answer.status_code, 403, answer.text)

	def test_owners_can_change_and_reassign_a_document(self):
		name = self.create(self.owner, "ToDo", description="mine", assigned_by=self.owner.user)
		values = {"allocated_to": self.other.user}
		answer = self.owner.send(f"/api/resource/ToDo/{name}", "PUT", json=values)
		self.assertEqual(answer.status_code, 200, answer.text)
		answer = self.other.send(f"/api/resource/ToDo/{name}", "PUT", json={"description": "seen"})
		self.assertEqual(answer.json["data"]["description"], "seen")

	@stricter_than_frappe
	def test_keys_named_like_methods_do_not_replace_the_methods(self):
		manager = Client("Huf Manager")
		shadowing = dict.fromkeys(("validate", "before_save", "_validate", "check_permission"), "x")
		values = {"provide_name": frappe.generate_hash(), "api_base": "not an address"}
		refused = manager.send("/api/resource/AI Provider", "POST", json={**values, **shadowing})
		without_keys = manager.send("/api/resource/AI Provider", "POST", json=values)
		self.assertEqual((refused.status_code, without_keys.status_code), (417, 417))
		name = self.create(self.owner, "ToDo", description="mine", assigned_by=self.owner.user)
		answer = self.other.send(
			f"/api/resource/ToDo/{name}", "PUT", json={"check_permission": "x", "has_permission": "x"}
		)
		self.assertEqual(answer.status_code, 403, answer.text)

	@stricter_than_frappe
	def test_validate_runs_even_if_the_request_has_a_validate_key(self):
		seen = []
		controller = type(frappe.new_doc("Agent Tool Function"))
		with mock.patch.object(controller, "validate", lambda doc: seen.append(doc.name), create=True):
			values = {"tool_name": frappe.generate_hash(), "types": "Get List", "validate": "x"}
			values |= {"reference_doctype": "ToDo", "description": "To-dos"}
			Client("System Manager", "Huf Manager").send(
				"/api/resource/Agent Tool Function", "POST", json=values
			)
		self.assertTrue(seen)

	@stricter_than_frappe
	def test_internal_flags_in_a_request_are_ignored(self):
		for key, value in (("flags", {"ignore_permissions": True}), ("_action", "cancel"), ("__islocal", 0)):
			values = {"description": "x", "assigned_by": self.owner.user, key: value}
			answer = self.owner.send("/api/resource/ToDo", "POST", json=values)
			self.assertEqual(answer.status_code, 200, answer.text)
			self.assertNotIn(key, answer.json["data"])
			self.assertTrue(frappe.db.exists("ToDo", answer.json["data"]["name"]))

	@stricter_than_frappe
	def test_a_child_row_of_another_document_is_not_taken_over(self):
		victim = frappe.get_doc("User", self.owner.user)
		row = next(row for row in victim.roles if row.role == "Huf User")
		thief = Client("System Manager")
		roles = [{"name": row.name, "role": "Huf User"}]
		thief.send(f"/api/resource/User/{self.other.user}", "PUT", json={"roles": roles})
		self.assertEqual(frappe.db.get_value("Has Role", row.name, "parent"), self.owner.user)

	def test_rows_of_an_agent_are_changed_only_with_the_agent(self):
		manager = Client("Huf Manager")
		tool, other = (make_tool("Get List", reference_doctype="ToDo") for _ in range(2))
		agent = frappe.get_doc("Agent", make_agent(None, (tool,)))
		row, table = agent.agent_tool[0].name, {"parent": agent.name, "parenttype": "Agent"}
		for method, path, values in (
			("PUT", f"Agent Tool/{row}", {"max_calls": 7}),
			("POST", "Agent Tool", {**table, "parentfield": "agent_tool", "tool": other}),
			("POST", "Has Role", {**table, "parentfield": "roles", "role": "Guest"}),
		):
			with self.subTest(path, method=method):
				answer = manager.send(f"/api/resource/{path}", method, json=values)
				# Frappe itself may refuse a new row with 403, before Huf does with its reason.
				self.assertIn(answer.status_code, (403, 417), answer.text)
				if answer.status_code == 417:
					self.assertIn(f"saved only with the Agent {agent.name}", answer.text)
		values = {"doctype": "Agent Tool", "name": row, "fieldname": "max_calls", "value": 3}
		answer = manager.send("/api/method/frappe.client.set_value", "POST", json=values)
		self.assertEqual(answer.status_code, 200, answer.text)
		frappe.db.rollback()
		agent.reload()
		self.assertEqual([(each.tool, each.max_calls) for each in agent.agent_tool], [(tool, 3)])
		# From version 16 on, Frappe writes no versions during tests, also not in requests.
		if not getattr(frappe, "in_test", False):
			self.assertTrue(frappe.db.exists("Version", {"ref_doctype": "Agent", "docname": agent.name}))
