"""REST endpoints of knowledge sources and their items, with permissions."""

import frappe

from huf.ai.core.errors import UsageError
from huf.ai.core.session import acting_as
from huf.api import knowledge
from huf.tests.base import SiteTestCase
from huf.tests.doctypes import CASE, LEAD, READER, make_case, make_doctypes
from huf.tests.factories import make_user
from huf.tests.knowledge import find, make_source


class TestKnowledge(SiteTestCase):
	@classmethod
	def setUpClass(cls):
		frappe.set_user("Administrator")
		make_doctypes()

	def test_user_sees_only_searchable_sources_without_counts(self):
		mine, other = make_source(("a.txt", "roof")), make_source(roles=[{"role": LEAD}])
		with acting_as(make_user("Huf User")):
			rows = {row.name: row for row in knowledge.get_sources()}
		self.assertIn(mine, rows)
		self.assertNotIn(other, rows)
		self.assertFalse(rows[mine].may_change)
		self.assertNotIn("counts", rows[mine])

	def test_manager_sees_source_counts_but_only_readable_items(self):
		make_case(title="Roof")
		source = make_source(reference_doctype=CASE)
		manager, reader = make_user("Huf Manager"), make_user("Huf Manager", READER)
		with acting_as(manager):
			row = next(row for row in knowledge.get_sources() if row.name == source)
			self.assertTrue(row.may_change and row.counts["Ready"])
			self.assertEqual(knowledge.get_items(source), [])
		with acting_as(reader):
			self.assertEqual(knowledge.get_items(source)[0]["doctype"], CASE)

	def test_user_without_write_permission_cannot_index_or_list_items(self):
		source = make_source(("a.txt", "roof"))
		(item,) = frappe.get_all("Knowledge Item", {"source": source}, pluck="name")
		with acting_as(make_user("Huf User")):
			for call in (
				lambda: knowledge.index(source),
				lambda: knowledge.get_items(source),
				lambda: knowledge.remove_item(item),
			):
				self.assertRaises(frappe.PermissionError, call)

	def test_search_runs_with_the_permissions_of_the_user(self):
		source = make_source(("a.txt", "The roof leaks"))
		with acting_as(make_user("Huf User")):
			found = knowledge.search("roof", frappe.as_json([source]))
		self.assertEqual([each["source"] for each in found["results"]], [source])
		with acting_as(make_user()):
			self.assertEqual(knowledge.search("roof", [source])["results"], [])

	def test_file_and_page_items_can_be_removed_document_items_cannot(self):
		source = make_source(("a.txt", "The roof leaks"))
		knowledge.remove_item(knowledge.get_items(source)[0]["name"])
		self.assertEqual((find("roof", source), knowledge.get_items(source)), ([], []))
		pages = make_source(source_type="URLs", urls="http://127.0.0.1:1/a\nhttp://127.0.0.1:1/b")
		knowledge.remove_item(knowledge.get_items(pages)[0]["name"])
		self.assertEqual(len(knowledge.get_items(pages)), 1)
		make_case(title="Roof")
		with self.assertRaisesRegex(UsageError, "filters"):
			knowledge.remove_item(knowledge.get_items(make_source(reference_doctype=CASE))[0]["name"])
