"""Roles, owners, shares, User Permissions and hooks, in lists and single documents. Runs on both runtimes."""

import frappe
import frappe.share
from frappe.permissions import add_user_permission

from huf.tests.base import SiteTestCase

REFUSALS = (
	ValueError,
	KeyError,
	frappe.ValidationError,
	frappe.PermissionError,
	frappe.db.OperationalError,
	frappe.db.ProgrammingError,
)
"""Raised by Frappe 15 or 17 for text that is not a column or operator."""
RIGHTS = ("read", "write", "create", "delete")


class PermissionTestCase(SiteTestCase):
	def make_user(self, *roles):
		email = f"{frappe.generate_hash(length=8)}@example.com"
		user = frappe.get_doc(dict(doctype="User", email=email, first_name="x", send_welcome_email=0))
		user.flags.no_welcome_mail = True
		user.update(dict(roles=[dict(role=role) for role in roles], user_type="System User"))
		return user.insert(ignore_permissions=True).name

	def make_note(self, **values):
		return frappe.get_doc(dict(doctype="Note", title="t", **values)).insert(ignore_permissions=True)

	def rights(self, doctype, doc=None):
		return [right for right in RIGHTS if frappe.has_permission(doctype, right, doc=doc)]


def drop_doctype(doctype):
	frappe.set_user("Administrator")
	frappe.delete_doc("DocType", doctype, force=True)
	frappe.db.commit()


class TestRoles(PermissionTestCase):
	def test_only_system_managers_have_rights_on_error_logs(self):
		for roles, expected in ((("System Manager",), list(RIGHTS)), ((), [])):
			frappe.set_user("Administrator")
			frappe.set_user(self.make_user(*roles))
			with self.subTest(roles=roles):
				self.assertEqual(self.rights("Error Log"), expected)

	def test_get_list_without_permission_raises_instead_of_returning_no_rows(self):
		frappe.set_user(self.make_user())
		with self.assertRaises(frappe.PermissionError):
			frappe.get_list("Error Log")
		frappe.get_all("Error Log", limit=1)

	def test_who_may_only_select_sees_the_search_fields(self):
		doctype, role = "Huf Test Selected", f"Huf Test {frappe.generate_hash(length=8)}"
		frappe.get_doc(dict(doctype="Role", role_name=role)).insert()
		fields = [
			dict(fieldname=each, label=each, fieldtype="Data") for each in ("heading", "code", "remark")
		]
		shown = dict(title_field="heading", search_fields="code", fields=fields)
		rules = [dict(role="System Manager", read=1, create=1), dict(role=role, select=1, read=0)]
		frappe.get_doc(
			dict(doctype="DocType", name=doctype, module="Huf", custom=1, permissions=rules, **shown)
		).insert()
		self.addCleanup(drop_doctype, doctype)
		frappe.get_doc(dict(doctype=doctype, heading="a", code="b", remark="c")).insert()
		frappe.set_user(self.make_user(role))
		(row,) = frappe.get_list(doctype, fields=["*"])
		self.assertEqual({"heading", "code", "remark"} & set(row), {"code"})

	def test_guests_cannot_list_desk_doctypes(self):
		frappe.set_user("Guest")
		for doctype in ("Note", "User", "Error Log", "Version"):
			with self.subTest(doctype), self.assertRaises(frappe.PermissionError):
				frappe.get_list(doctype)

	def test_insert_and_save_check_permissions_by_default(self):
		frappe.set_user(self.make_user())
		values = dict(doctype="Error Log", method="m", error="e")
		with self.assertRaises(frappe.PermissionError):
			frappe.get_doc(values).insert()
		log = frappe.get_doc(values).insert(ignore_permissions=True)
		log = frappe.get_doc("Error Log", log.name)
		with self.assertRaises(frappe.PermissionError):
			log.save()

	def test_check_permission_raises_an_empty_error_and_sets_error_message(self):
		log = frappe.get_doc(dict(doctype="Error Log", method="m", error="e")).insert(ignore_permissions=True)
		log = frappe.get_doc("Error Log", log.name)
		frappe.set_user(self.make_user())
		frappe.flags.error_message = None
		with self.assertRaises(frappe.PermissionError) as refused:
			log.check_permission("write")
		self.assertEqual(str(refused.exception), "")
		self.assertIn("Error Log", frappe.flags.error_message)


class TestOwnersAndHooks(PermissionTestCase):
	def test_owner_and_creation_cannot_be_changed_on_save(self):
		note = self.make_note()
		for change in ({"owner": "Guest"}, {"creation": "2020-01-01 00:00:00"}):
			note.reload()
			note.update(change)
			with self.subTest(change), self.assertRaises(frappe.CannotChangeConstantError):
				note.save()

	def test_a_private_note_is_visible_to_its_owner_only(self):
		private, public = self.make_note(), self.make_note(public=1)
		frappe.set_user(self.make_user("System Manager"))
		own = self.make_note()
		names = frappe.get_list("Note", pluck="name", limit=0)
		self.assertEqual({own.name, public.name} - set(names), set())
		self.assertNotIn(private.name, names)
		self.assertEqual(self.rights("Note", private), [])

	def test_a_child_table_cannot_be_listed_by_itself(self):
		frappe.set_user(self.make_user())
		with self.assertRaises(frappe.PermissionError):
			frappe.get_list("Has Role")


class TestShares(PermissionTestCase):
	def test_a_share_grants_its_rights_on_one_document_only(self):
		log, other = frappe.log_error("a", "b"), frappe.log_error("c", "d")
		user = self.make_user()
		frappe.share.add("Error Log", log.name, user, write=1)
		frappe.set_user(user)
		rows = frappe.get_list("Error Log", fields=["name", "method"])
		self.assertEqual(rows, [{"name": log.name, "method": "a"}])
		self.assertEqual(self.rights("Error Log", log), ["read", "write"])
		self.assertEqual(self.rights("Error Log", other), [])

	def test_a_share_can_be_taken_back(self):
		log, user = frappe.log_error("a", "b"), self.make_user()
		frappe.share.add("Error Log", log.name, user)
		frappe.share.remove("Error Log", log.name, user)
		frappe.set_user(user)
		self.assertFalse(frappe.has_permission("Error Log", "read", doc=log))


class TestUserPermissions(PermissionTestCase):
	"""A System Manager restricted to the DocType "Note"; Error Logs link to it, another DocType or none."""

	def setUp(self):
		super().setUp()
		user = self.make_user("System Manager")
		self.logs = {
			doctype: frappe.log_error("t", "m", reference_doctype=doctype).name
			for doctype in ("Note", "ToDo", None)
		}
		add_user_permission("DocType", "Note", user, ignore_permissions=True)
		frappe.set_user(user)

	def test_lists_contain_documents_that_link_to_the_permitted_value_or_none(self):
		filters = {"name": ["in", list(self.logs.values())]}
		names = frappe.get_list("Error Log", filters=filters, pluck="name")
		self.assertEqual(set(names), {self.logs["Note"], self.logs[None]})

	def test_has_permission_follows_user_permissions_on_links(self):
		readable = {to: frappe.has_permission("Error Log", "read", doc=log) for to, log in self.logs.items()}
		self.assertEqual(readable, {"Note": True, "ToDo": False, None: True})

	def test_user_permissions_restrict_the_linked_doctype_itself(self):
		self.assertEqual(frappe.get_list("DocType", pluck="name"), ["Note"])
		self.assertFalse(frappe.has_permission("DocType", "read", doc="ToDo"))


class TestAttacks(PermissionTestCase):
	"""Untrusted text never becomes SQL, code or a path."""

	def test_sql_in_fields_and_filters_is_refused(self):
		attempts = (
			dict(fields=["(select password from __Auth limit 1)"]),
			dict(fields=["name, (select password from __Auth)"]),
			dict(fields=["name from tabUser; drop table tabNote; --"]),
			dict(fields=["name as `x` from tabUser --"]),
			dict(filters={"name` or 1=1 --": "x"}),
			dict(filters=[["Note` n, tabUser", "name", "=", "x"]]),
			dict(filters=[["Note", "name", "= '' or 1=1 --", "x"]]),
		)
		for attempt in attempts:
			with self.subTest(attempt), self.assertRaises(REFUSALS):
				frappe.get_all("Note", **attempt)
			frappe.db.rollback()  # Postgres refuses further queries after a failed one

	def test_sql_in_filter_values_is_not_executed(self):
		# No integer after "=": on Postgres, Frappe 15 quotes it even inside a value, and the query fails.
		for value in (
			"' or '1'='1",
			"x' union select password from __Auth --",
			'" or true --',
			"\\' or true --",
		):
			self.assertEqual(frappe.get_all("Note", filters={"name": value}), [])
			self.assertEqual(frappe.get_all("Note", filters={"name": ["in", [value]]}), [])
			self.assertIsNone(frappe.db.exists("Note", value))

	def test_password_fields_are_not_returned_by_lists(self):
		user = frappe.get_doc("User", self.make_user())
		user.api_secret = "very secret"
		user.save()
		self.assertNotIn("very secret", frappe.as_json(frappe.get_all("User", fields=["*"])))
		self.assertEqual(frappe.get_doc("User", user.name).get_password("api_secret"), "very secret")

	def test_safe_eval_refuses_sandbox_escapes(self):
		for code in (
			"().__class__.__bases__[0].__subclasses__()",
			"'{0.__class__}'.format(1)",
			"open('/etc/passwd').read()",
			"__import__('os').system('true')",
			"[x for x in ().__class__.__mro__]",
			"frappe.db.sql('select 1')",
			"(lambda: 0).__globals__",
			"getattr(1, '__class__')",
		):
			with self.subTest(code), self.assertRaises((SyntaxError, NameError, AttributeError)):
				frappe.safe_eval(code)

	def test_file_names_with_paths_stay_in_the_files_folder(self):
		for name in ("../../x.txt", "..\\..\\x.txt", "/etc/passwd", "a/../../b.txt"):
			values = dict(doctype="File", file_name=name, content=frappe.generate_hash(), is_private=1)
			file = frappe.get_doc(values).insert()
			self.assertTrue(file.get_full_path().startswith(frappe.get_site_path("private", "files")))
			self.assertNotIn("/", file.file_url.removeprefix("/private/files/"))
