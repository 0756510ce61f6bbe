"""The audit log has changes of agents, tools, settings and permissions, and approvals, but no secrets."""

import json
from urllib.parse import quote

import frappe
from frappe.utils import add_to_date, now_datetime

from huf.ai.core.times import to_utc
from huf.ai.mcp.server import grants
from huf.ai.queries.audit import read_audit
from huf.tests.base import SiteTestCase
from huf.tests.factories import SECRET, make, make_agent, make_user, unique
from huf.tests.security.clients import Client

PATH = "/api/method/huf.api.audit.export"


class TestAudit(SiteTestCase):
	def setUp(self):
		super().setUp()
		self.since = add_to_date(now_datetime(), seconds=-1, as_datetime=True)

	def entries(self, is_system_manager: bool = True, **expected) -> list[dict]:
		entries = read_audit(self.since, None, is_system_manager)
		return [entry for entry in entries if expected.items() <= entry.items()]

	def test_changes_and_deletion_of_an_agent_are_logged_with_the_user(self):
		user = make_user("Huf Manager")
		frappe.set_user(user)
		agent = make_agent(max_iterations=3)
		doc = frappe.get_doc("Agent", agent)
		doc.update({"max_iterations": 7, "instructions": "A text that is too long for a log."})
		doc.append("roles", {"role": "Huf User"})
		doc.save(ignore_version=False)
		entry = self.last_entry(agent)
		self.assertEqual((entry["action"], entry["user"]), ("change", user))
		changes = {change["field"]: change for change in entry["changes"]}
		self.assertEqual((changes["max_iterations"]["before"], changes["max_iterations"]["after"]), (3, 7))
		self.assertEqual(changes["instructions"], {"field": "instructions"})
		self.assertEqual(
			(changes["roles"]["action"], changes["roles"]["row"]), ("added", {"role": "Huf User"})
		)
		frappe.set_user(user)
		doc.delete()
		entry = self.last_entry(agent)
		self.assertEqual((entry["action"], entry["user"]), ("delete", user))

	def last_entry(self, agent: str) -> dict:
		frappe.set_user("Administrator")
		frappe.db.commit()
		return self.entries(doctype="Agent", name=agent)[-1]

	def test_role_and_share_changes_are_visible_to_system_managers_only(self):
		user = make_user()
		doc = frappe.get_doc("User", user)
		doc.append("roles", {"role": "Huf User"})
		doc.save(ignore_version=False)
		agent = make_agent()
		frappe.share.add_docshare("Agent", agent, user)
		frappe.db.commit()
		changes = [
			each for entry in self.entries(doctype="User", name=user) for each in entry.get("changes", ())
		]
		self.assertIn({"field": "roles", "action": "added", "row": {"role": "Huf User"}}, changes)
		self.assertTrue(self.entries(doctype="DocShare", action="create"))
		self.assertFalse(self.entries(False, doctype="User"))
		self.assertFalse(self.entries(False, doctype="DocShare"))
		self.assertTrue(self.entries(False, doctype="Agent", name=agent))

	def test_grants_of_programs_and_their_end_are_logged_for_system_managers(self):
		user = make_user("Huf User")
		grant = grants.insert_grant(unique("code"), user, "client", "A program", "http://127.0.0.1/mcp")
		frappe.set_user(user)
		frappe.delete_doc(grants.GRANT, grant)
		frappe.set_user("Administrator")
		frappe.db.commit()
		found = self.entries(doctype=grants.GRANT, name=grant)
		self.assertEqual([(each["action"], each["user"]) for each in found], [("delete", user)])
		grant = grants.insert_grant(unique("code"), user, "client", "A program", "http://127.0.0.1/mcp")
		found = self.entries(doctype=grants.GRANT, name=grant)
		self.assertEqual([(each["action"], each["user"]) for each in found], [("create", user)])
		self.assertEqual(self.entries(False, doctype=grants.GRANT), [])
		grants.delete_grant(grant)
		frappe.db.commit()

	def test_the_audit_log_contains_no_secrets(self):
		provider = make(
			"AI Provider", provide_name=unique("Audited"), api_key=SECRET, api_base="http://127.0.0.1:1/"
		)
		provider.update({"api_key": SECRET + "-2", "api_base": "http://127.0.0.1:2/"}).save(
			ignore_version=False
		)
		user, key = frappe.get_doc("User", make_user()), frappe.generate_hash(length=15)
		user.update({"api_key": key, "api_secret": SECRET}).save(ignore_version=False)
		frappe.db.commit()
		entries = self.entries()
		self.assertIn("http://127.0.0.1:2/", json.dumps(entries))
		for secret in (SECRET, key):
			self.assertNotIn(secret, json.dumps(entries, default=str))

	def test_the_audit_log_contains_approvals(self):
		agent = make_agent()
		values = {"agent": agent, "tool": "Delete", "status": "Rejected", "answered_by": "Administrator"}
		draft = frappe.new_doc("Agent Draft").update({**values, "answered_at": now_datetime()})
		draft.name = unique("draft")
		draft.db_insert()
		frappe.db.commit()
		(entry,) = self.entries(doctype="Agent Draft", name=draft.name)
		self.assertEqual(
			(entry["action"], entry["status"], entry["tool"]), ("approval", "rejected", "Delete")
		)

	def test_only_managers_can_export_the_audit_log_as_json_lines(self):
		make_agent()
		frappe.db.commit()
		for roles, status in (((), 403), (("Huf User",), 403), (("Huf Manager",), 200)):
			answer = Client(*roles).send(f"{PATH}?since={self.since.isoformat(' ')}")
			self.assertEqual(answer.status_code, status, roles)
		lines = [json.loads(line) for line in answer.get_data(as_text=True).splitlines()]
		self.assertIn("create", {line["action"] for line in lines})
		self.assertEqual([line["time"] for line in lines], sorted(line["time"] for line in lines))
		self.assertNotIn("User", {line.get("doctype") for line in lines})
		first = Client("Huf Manager").send(f"{PATH}?since={self.since.isoformat(' ')}&limit=1")
		self.assertEqual(first.get_data(as_text=True).count("\n"), 1)
		for path in (PATH, PATH.replace("export", "contacts")):
			since = quote(f"{to_utc(self.since).isoformat()}")
			self.assertEqual(Client("Huf Manager").send(f"{path}?since={since}&limit=1").status_code, 200)
		zoned = Client("Huf Manager").send(f"{PATH}?since={since}&limit=1")
		self.assertEqual(zoned.get_data(), first.get_data())
		for query in ("since=yesterday", "limit=0", "limit=100000"):
			self.assertIn(Client("Huf Manager").send(f"{PATH}?{query}").status_code, (400, 417))
