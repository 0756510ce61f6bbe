"""A cached document is never older than the database."""

import subprocess
import sys

import frappe

from huf.tests.base import SiteTestCase
from huf.tests.contract.connections import elsewhere, together
from huf.tests.factories import make_agent, make_tool


def cached_title(name):
	return frappe.get_cached_value("Note", name, "title")


def set_title(name, title):
	frappe.db.set_value("Note", name, "title", title)


class CachedNoteTestCase(SiteTestCase):
	def setUp(self):
		super().setUp()
		self.name = frappe.get_doc(dict(doctype="Note", title="old")).insert().name
		frappe.db.commit()
		self.assertEqual(cached_title(self.name), "old")

	def tearDown(self):
		frappe.db.rollback()
		frappe.delete_doc("Note", self.name, force=True)
		frappe.db.commit()
		super().tearDown()


class TestCachedDocuments(CachedNoteTestCase):
	def test_a_save_is_seen_at_once(self):
		frappe.get_doc("Note", self.name).update(dict(title="new")).save()
		self.assertEqual(cached_title(self.name), "new")

	def test_set_value_and_db_set_are_seen_at_once(self):
		set_title(self.name, "new")
		self.assertEqual(cached_title(self.name), "new")
		frappe.get_doc("Note", self.name).db_set("title", "newer")
		self.assertEqual(cached_title(self.name), "newer")

	def test_cached_child_rows_follow_a_rename(self):
		tool, new = make_tool("Get List", reference_doctype="ToDo"), f"tool_{frappe.generate_hash(length=8)}"
		agent = make_agent(tools=(tool,))
		self.assertEqual(frappe.get_cached_doc("Agent", agent).agent_tool[0].tool, tool)
		frappe.rename_doc("Agent Tool Function", tool, new)
		self.assertEqual(frappe.get_cached_doc("Agent", agent).agent_tool[0].tool, new)
		frappe.db.commit()

	def test_rollback_and_clearing_restore_the_cached_value(self):
		set_title(self.name, "never")
		self.assertEqual(cached_title(self.name), "never")
		frappe.db.rollback()
		frappe.clear_document_cache("Note", self.name)
		self.assertEqual(cached_title(self.name), "old")

	def test_savepoint_rollback_and_clearing_restore_the_cached_value(self):
		frappe.db.savepoint("here")
		set_title(self.name, "never")
		self.assertEqual(cached_title(self.name), "never")
		frappe.db.rollback(save_point="here")
		frappe.clear_document_cache("Note", self.name)
		self.assertEqual(cached_title(self.name), "old")

	def test_a_deleted_document_is_gone(self):
		note = frappe.get_doc(dict(doctype="Note", title="short lived")).insert()
		self.assertEqual(cached_title(note.name), "short lived")
		note.delete()
		self.assertIsNone(cached_title(note.name))
		with self.assertRaises(frappe.DoesNotExistError):
			frappe.get_cached_doc("Note", note.name)


class TestBeyondFrappe(CachedNoteTestCase):
	"""Guarantees of the embedded runtime only: Frappe may keep a cached document until the request ends."""

	def setUp(self):
		if "embedded" not in frappe.__version__:
			self.skipTest("Frappe keeps a cached document until the request ends")
		super().setUp()

	def test_a_change_to_the_document_does_not_change_the_cached_one(self):
		frappe.get_doc("Note", self.name).title = "only in memory"
		self.assertEqual(cached_title(self.name), "old")

	def test_the_commit_of_another_connection_is_seen(self):
		elsewhere(set_title, self.name, "theirs")
		self.assertEqual(cached_title(self.name), "theirs")

	def test_an_uncommitted_change_is_seen_by_its_own_connection_only(self):
		set_title(self.name, "mine")
		self.assertEqual(cached_title(self.name), "mine")
		self.assertEqual(elsewhere(cached_title, self.name), "old")

	def test_a_rolled_back_change_reaches_nobody(self):
		set_title(self.name, "never")
		cached_title(self.name)
		frappe.db.rollback()
		self.assertEqual(cached_title(self.name), "old")
		self.assertEqual(elsewhere(cached_title, self.name), "old")

	def test_the_commit_of_another_process_is_seen(self):
		script = (
			"import huf.embedded; huf.embedded.install(); import frappe;"
			f"frappe.init({frappe.local.site!r}, sites_path={frappe.local.sites_path!r}); frappe.connect();"
			f"frappe.db.set_value('Note', {self.name!r}, 'title', 'far away'); frappe.db.commit()"
		)
		subprocess.run([sys.executable, "-c", script], check=True, timeout=60)
		self.assertEqual(cached_title(self.name), "far away")

	def test_readers_never_see_an_older_value_again_during_concurrent_writes(self):
		def write():
			for number in range(60):
				set_title(self.name, f"{number:03d}")
				frappe.db.commit()

		def read():
			seen = [cached_title(self.name) for _ in range(2000)]
			return [title for title in seen if title != "old"]

		for seen in together([(write,), (read,), (read,), (read,)])[1:]:
			self.assertEqual(seen, sorted(seen))

	def test_a_role_added_by_another_connection_applies_immediately(self):
		user = make_user(f"{frappe.generate_hash(length=8)}@example.com")
		frappe.db.commit()
		self.addCleanup(elsewhere, frappe.delete_doc, "User", user)
		self.assertNotIn("System Manager", frappe.get_roles(user))
		elsewhere(lambda: frappe.get_doc("User", user).add_roles("System Manager"))
		self.assertIn("System Manager", frappe.get_roles(user))


def make_user(email):
	values = dict(doctype="User", email=email, first_name="x", send_welcome_email=0)
	return frappe.get_doc(values).insert(ignore_permissions=True).name
