"""Attempts to bypass permissions over REST: file names, rows of other parents, renames, filters as names."""

import frappe
from frappe.database.statements import MAX_COLUMN_CHARS

from huf.embedded.tests.sites import Browser, SiteTestCase, isolated
from huf.tests.knowledge import make_source


class TestDocumentPaths(SiteTestCase):
	def setUp(self):
		super().setUp()
		self.make_user("a@example.com", "Huf User")
		self.make_user("b@example.com", "Huf User")
		frappe.db.commit()
		self.browser = Browser()
		self.browser.login("b@example.com")

	def test_a_file_is_not_moved_out_of_its_folder(self):
		outside = self.home / "outside.py"
		made = self.browser.post(
			"/api/resource/File", json={"file_name": "z.py", "content": "1", "is_private": 1}
		).json["data"]
		for name in (str(outside), "../../../../outside.py"):
			change = {"file_name": name, "is_private": 0}
			self.browser.open(f"/api/resource/File/{made['name']}", "PUT", json=change)
			self.assertFalse(outside.exists())
			self.assertEqual(list(self.home.rglob("outside.py*")), [])

	def test_disabled_roles_are_not_among_the_roles_of_a_user(self):
		role = frappe.get_doc({"doctype": "Role", "role_name": "Reader of all"}).insert()
		user = frappe.get_doc("User", "a@example.com")
		user.append("roles", {"role": role.name})
		user.save()
		role.update({"disabled": 1}).save()
		self.assertNotIn(role.name, isolated(frappe.get_roles, "a@example.com"))

	def test_rows_of_other_parents_are_not_listed(self):
		query = 'doctype=Has Role&parent=Agent Tool Function&fields=["parent","role"]&limit_page_length=0'
		answer = self.browser.open(f"/api/method/frappe.client.get_list?{query}")
		self.assertIn(answer.status_code, (200, 403))
		rows = answer.json.get("message", [])
		self.assertEqual(
			[row for row in rows if "@" in row["parent"] or row["parent"] == "Administrator"], []
		)

	def test_a_filter_in_place_of_a_name_reveals_nothing(self):
		frappe.db.set_value("User", "a@example.com", "api_key", "secretkey")
		frappe.db.commit()
		answers = {
			self.browser.post(
				"/api/method/frappe.client.get",
				json={"doctype": "User", "name": {"api_key": ["like", f"{start}%"]}},
			).status_code
			for start in ("s", "t")
		}
		self.assertEqual(len(answers), 1)

	def test_settings_are_not_renamed_to_those_of_somebody_else(self):
		self.browser.post("/api/resource/Huf User Settings", json={"user": "b@example.com"})
		self.browser.post(
			"/api/resource/Huf User Settings/b@example.com",
			json={"run_method": "rename", "name": "a@example.com", "force": 1},
		)
		self.assertFalse(frappe.db.exists("Huf User Settings", "a@example.com"))

	def test_too_long_column_expressions_are_refused(self):
		long = "a" + " " * 200_000 + "b"
		self.assertGreater(len(long), MAX_COLUMN_CHARS)
		for query in ({"fields": [long]}, {"order_by": long}, {"group_by": long}):
			answer = self.browser.post(
				"/api/method/frappe.client.get_list", json={"doctype": "ToDo", **query}
			)
			self.assertEqual(answer.status_code, 417, answer.text[:200])

	def test_attaching_a_file_to_a_source_needs_write_permission_on_it(self):
		source = make_source()
		values = {"attached_to_doctype": "Knowledge Source", "attached_to_name": source}
		answer = self.browser.post(
			"/api/resource/File", json={"file_name": "y.txt", "content": "believe me", **values}
		)
		self.assertEqual(answer.status_code, 403, answer.text[:200])


class TestTables(SiteTestCase):
	"""A document with two tables of one child DocType; only System Managers may read the first."""

	def setUp(self):
		super().setUp()
		self.make_user("clerk@example.com", "Huf User")
		if not frappe.db.exists("DocType", "Paper"):
			self.make_doctypes()
		rows = {"secret": [{"text": "hidden"}], "open": [{"text": "shown"}]}
		self.paper = frappe.get_doc({"doctype": "Paper", **rows}).insert()
		frappe.db.commit()
		self.path = f"/api/resource/Paper/{self.paper.name}"
		self.browser = Browser()
		self.browser.login("clerk@example.com")

	def make_doctypes(self):
		own = {"doctype": "DocType", "module": "Huf", "custom": 1}
		text = {"fieldname": "text", "fieldtype": "Data", "label": "Text"}
		frappe.get_doc({**own, "name": "Paper Line", "istable": 1, "fields": [text]}).insert()
		table = {"fieldtype": "Table", "options": "Paper Line"}
		secret = {**table, "fieldname": "secret", "label": "Secret", "permlevel": 1}
		fields = [secret, {**table, "fieldname": "open", "label": "Open"}]
		rights = {"read": 1, "write": 1, "create": 1, "delete": 1}
		rules = [{"role": "Huf User", **rights}, {"role": "System Manager", **rights, "submit": 1}]
		rules.append({"role": "System Manager", "permlevel": 1, "read": 1, "write": 1})
		made = {**own, "name": "Paper", "is_submittable": 1, "fields": fields, "permissions": rules}
		frappe.get_doc(made).insert()

	def list_rows(self) -> list[tuple[str, str]]:
		frappe.db.rollback()
		rows = frappe.get_all(
			"Paper Line", {"parent": self.paper.name}, ["parentfield", "text"], order_by="text asc"
		)
		return [(row.parentfield, row.text) for row in rows]

	def test_child_rows_above_the_permission_level_of_the_user_are_not_listed(self):
		for field in ("open.text as text", "secret.text as text", "`tabPaper Line`.text"):
			with self.subTest(field):
				query = {"fields": f'["name", "{field}"]', "filters": f'{{"name": "{self.paper.name}"}}'}
				answer = self.browser.open("/api/resource/Paper", query_string=query)
				self.assertIn("shown", answer.text)
				self.assertNotIn("hidden", answer.text)
		found = self.browser.open('/api/resource/Paper?filters=[["Paper Line", "text", "=", "hidden"]]')
		self.assertEqual(found.json["data"], [])

	def test_child_rows_cannot_be_moved_out_of_a_hidden_table(self):
		row = {"name": self.paper.secret[0].name, "text": "taken"}
		self.assertEqual(self.browser.open(self.path, "PUT", json={"open": [row]}).status_code, 403)
		self.assertEqual(self.list_rows(), [("secret", "hidden"), ("open", "shown")])

	def test_a_submitted_document_gets_and_loses_no_rows(self):
		self.paper.submit()
		frappe.db.commit()
		place = {"parent": self.paper.name, "parenttype": "Paper", "parentfield": "open"}
		added = self.browser.post("/api/resource/Paper Line", json={**place, "text": "added"})
		removed = self.browser.open(f"/api/resource/Paper Line/{self.paper.open[0].name}", "DELETE")
		self.assertEqual((added.status_code, removed.status_code), (403, 403))
		self.assertEqual(self.list_rows(), [("secret", "hidden"), ("open", "shown")])

	def test_inserting_a_submitted_document_needs_submit_permission(self):
		answer = self.browser.post("/api/resource/Paper", json={"docstatus": 1})
		self.assertEqual((answer.status_code, answer.json["exc_type"]), (403, "PermissionError"))
