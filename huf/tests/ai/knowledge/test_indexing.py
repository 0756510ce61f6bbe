"""Sources are indexed, reindexed when their content changes, and removed from the index when deleted."""

from functools import partial
from unittest.mock import patch

import frappe
from frappe.utils import now

from huf.ai.core.session import acting_as
from huf.ai.dry_run.preview import preview_changes
from huf.ai.knowledge import changes, index_text, indexing, sources, store
from huf.ai.knowledge.indexing import index_source
from huf.ai.knowledge.store import CHUNK, ITEM, SOURCE
from huf.ai.tools import document_tools
from huf.tests.ai.knowledge.test_reading import make_pdf
from huf.tests.ai.tools.pages import ARTICLE, Site, public
from huf.tests.base import SiteTestCase
from huf.tests.doctypes import CASE, EDITOR, ORDER, READER, make_case, make_doctypes, make_order
from huf.tests.factories import make, make_user, unique
from huf.tests.knowledge import attach, find, make_source, texts


class TestFiles(SiteTestCase):
	def test_a_search_result_cites_file_link_and_page_in_the_language_of_the_reader(self):
		source = make_source(("lease.pdf", make_pdf("Of the flat", "The rent is 900")))
		(cited,) = find("rent", source)
		file = frappe.get_doc("File", cited["name"])
		self.assertEqual((cited["doctype"], cited["title"]), ("File", file.file_name))
		self.assertEqual((cited["page"], cited["position"], cited["score"]), (2, "page 2", 1.0))
		self.assertEqual(cited["link"], f"{file.file_url}#page=2")
		self.assertEqual(cited["source"], source)
		self.addCleanup(setattr, frappe.local, "lang", frappe.local.lang)
		frappe.local.lang = "de"
		self.assertEqual(find("rent", source)[0]["position"], "Seite 2")

	def test_attaching_indexed_files_requires_write_permission_except_in_web_forms(self):
		make_doctypes()
		make_source(reference_doctype=ORDER, with_attachments=1)
		order = make_order()
		with acting_as(make_user("Huf User", READER)), self.assertRaises(frappe.PermissionError):
			attach(ORDER, order.name, "note.txt", "The roof leaks")
		frappe.db.rollback()
		# A source of this name may be made later.
		later = {
			"doctype": "File",
			"attached_to_doctype": SOURCE,
			"attached_to_name": "Handbook of next year",
		}
		with acting_as(make_user("Huf User")), self.assertRaises(frappe.PermissionError):
			changes.check_file(frappe.get_doc(later))
		changes.check_file(frappe.get_doc(later))
		# Visitors attach files in web forms to documents that they may not change.
		frappe.flags.in_web_form = True
		self.addCleanup(frappe.flags.pop, "in_web_form")
		changes.check_file(
			frappe.get_doc({"doctype": "File", "attached_to_doctype": ORDER, "attached_to_name": order})
		)

	def test_an_unreadable_file_is_reported_and_other_files_are_indexed(self):
		source = make_source(("a.docx", b"no docx"), ("b.txt", "The roof leaks"))
		states = {row.state: row.error for row in store.read_items(source).values()}
		self.assertIn("could not be read", states["Failed"])
		self.assertEqual(len(find("roof", source)), 1)
		self.assertEqual(frappe.db.get_value(SOURCE, source, "state"), "Ready")

	def test_a_file_attached_while_its_source_is_listed_is_indexed(self):
		source = make_source()
		list_references = sources.list_references

		def attach_afterwards(doc):
			yield from list(list_references(doc))
			attach(SOURCE, source, "b.txt", "The roof leaks")

		with patch.object(sources, "list_references", attach_afterwards):
			index_source(source)
		self.assertEqual(len(find("roof", source)), 1)

	def test_a_file_attached_at_the_end_of_a_job_is_indexed_by_that_job(self):
		source = make_source()
		pending = iter([("b.txt", "The roof leaks")])

		def attach_pending():
			for name, content in pending:
				attach(SOURCE, source, name, content)
			return now()

		with patch.object(indexing, "now", attach_pending):
			index_source(source)
		self.assertEqual(len(find("roof", source)), 1)

	def test_a_file_that_is_deleted_is_not_found_any_more(self):
		source = make_source(("b.txt", "The roof leaks"))
		frappe.delete_doc("File", find("roof", source)[0]["name"])
		self.assertEqual(find("roof", source), [])
		self.assertEqual(store.read_items(source), {})

	def test_a_source_that_is_deleted_leaves_nothing_behind(self):
		source = make_source(("b.txt", "The roof leaks"))
		items = list(store.read_items(source))
		frappe.delete_doc(SOURCE, source)
		self.assertEqual(frappe.db.count(ITEM, {"source": source}), 0)
		self.assertEqual(frappe.db.count(CHUNK, {"item": ["in", items]}), 0)

	def test_a_disabled_source_is_not_searched(self):
		source = make_source(("b.txt", "The roof leaks"))
		frappe.get_doc(SOURCE, source).update({"disabled": 1}).save()
		self.assertEqual(find("roof", source), [])


class TestPages(SiteTestCase):
	def setUp(self):
		super().setUp()
		self.site = Site(self)
		public(self, "127.0.0.1")

	def test_a_web_page_is_indexed_and_its_text_is_untrusted(self):
		url = self.site.add("/roof", ARTICLE)
		source = make_source(source_type="URLs", urls=url)
		(cited,) = find("leaks north", source)
		self.assertEqual((cited["url"], cited["link"], cited["title"]), (url, url, "The roof"))
		self.assertNotIn("evil", cited["text"])
		from huf.ai.knowledge.search import search_knowledge

		self.assertIs(search_knowledge("leaks", [source]).get("untrusted"), True)

	def test_a_web_page_is_reindexed_and_kept_while_unreachable(self):
		source = make_source(source_type="URLs", urls=self.site.add("/a", "The old roof", "text/plain"))
		self.site.add("/a", "The new roof", "text/plain")
		index_source(source)
		self.assertEqual(texts("roof", source), ["The new roof"])
		self.site.add("/a", "gone", status=500)
		index_source(source)
		self.assertEqual(texts("roof", source), ["The new roof"])
		(item,) = store.read_items(source).values()
		self.assertIn("status 500", item.error)

	def test_a_private_address_is_not_read(self):
		public(self)
		source = make_source(source_type="URLs", urls=self.site.add("/a", "secret", "text/plain"))
		(item,) = store.read_items(source).values()
		self.assertEqual((item.state, self.site.seen), ("Failed", []))
		self.assertIn("private address", item.error)

	def test_a_source_url_that_is_not_http_is_refused(self):
		with self.assertRaises(frappe.ValidationError):
			make_source(source_type="URLs", urls="file:///etc/passwd")


class TestDocuments(SiteTestCase):
	@classmethod
	def setUpClass(cls):
		frappe.set_user("Administrator")
		make_doctypes()

	def setUp(self):
		super().setUp()
		self.word = frappe.generate_hash(length=10)

	def source(self, **values) -> str:
		return make_source(reference_doctype=CASE, **values)

	def test_a_changed_document_is_found_by_its_new_words_only(self):
		doc, source = make_case(title=f"Roof {self.word}"), self.source()
		doc.update({"title": f"Gutter {self.word}"}).save()
		index_source(source, gather=False)
		(cited,) = find(self.word, source)
		self.assertIn("Gutter", cited["text"])
		self.assertEqual(cited["title"], doc.title)
		self.assertEqual(find(f'"roof {self.word}"', source), [])

	def test_a_source_with_a_broken_filter_does_not_block_saving_documents(self):
		source = self.source()
		frappe.db.set_value(SOURCE, source, "filters", '[["no_such_field", "=", "x"]]')
		frappe.clear_document_cache(SOURCE, source)
		self.addCleanup(frappe.db.set_value, SOURCE, source, "filters", None)
		doc = make_case(title=f"Roof {self.word}")
		self.assertTrue(frappe.db.exists(CASE, doc.name))
		index_source(source)
		state, error = frappe.db.get_value(SOURCE, source, ["state", "error"])
		self.assertEqual(state, "Failed")
		self.assertIn("no_such_field", error)

	def test_a_source_whose_filters_are_broken_stays_failed_while_its_waiting_items_are_indexed(self):
		make_case(title=f"Roof {self.word}")
		source = self.source()
		frappe.db.set_value(SOURCE, source, "filters", '{"gone": 1}')
		frappe.db.commit()
		frappe.clear_document_cache(SOURCE, source)
		index_source(source)
		store.mark_waiting({"source": source})
		index_source(source, gather=False)
		state, error = frappe.db.get_value(SOURCE, source, ["state", "error"])
		self.assertEqual(state, "Failed")
		self.assertIn("cannot be listed", error)
		self.assertNotIn(source, store.list_unfinished_sources())

	def test_new_documents_are_found_and_deleted_ones_disappear_at_once(self):
		source = self.source()
		doc = make_case(title=f"Roof {self.word}")
		index_source(source, gather=False)
		self.assertEqual(len(find(self.word, source)), 1)
		doc.delete()
		self.assertEqual(find(self.word, source), [])

	def test_only_documents_that_match_the_filters_are_found(self):
		doc, source = make_case(title=f"Roof {self.word}"), self.source(filters='{"status": "Open"}')
		self.assertEqual(len(find(self.word, source)), 1)
		doc.update({"status": "Closed"}).save()
		self.assertEqual(find(self.word, source), [])
		for filters in (
			'[["status", "=", "Closed"]]',
			f'[["{CASE}", "status", "=", "Closed"]]',
			f'[["{CASE}", "status", "=", "Closed", false]]',
		):
			frappe.get_doc(SOURCE, source).update({"filters": filters}).save()
			index_source(source)
			self.assertEqual(len(find(self.word, source)), 1, filters)

	def test_a_renamed_document_is_found_by_its_new_name(self):
		old, new = unique("Team"), unique("Team")
		make("Huf Test Team", title=old)
		source = make_source(reference_doctype="Huf Test Team")
		frappe.rename_doc("Huf Test Team", old, new, force=True)
		index_source(source)
		names = frappe.get_all(ITEM, {"source": source}, pluck="reference_name")
		self.assertIn(new, names)
		self.assertNotIn(old, names)

	def test_rows_of_a_table_are_found_with_their_document(self):
		order = make_order(f"nail {self.word}")
		(cited,) = find(self.word, make_source(reference_doctype=ORDER))
		self.assertEqual((cited["doctype"], cited["name"]), (ORDER, order.name))

	def test_attached_files_are_found_only_if_the_source_includes_attachments(self):
		doc = make_case(title="Roof")
		attach(CASE, doc.name, "a.txt", f"The invoice {self.word}")
		self.assertEqual(find(self.word, self.source()), [])
		source = self.source(with_attachments=1)
		self.assertEqual(len(find(self.word, source)), 1)
		attach(CASE, doc.name, "b.txt", f"A reminder {self.word}")
		index_source(source, gather=False)
		self.assertEqual(len(find(self.word, source)), 2)

	def test_attached_files_follow_filters_and_renames_of_their_document(self):
		doc = make_case(title="Roof", status="Closed")
		attach(CASE, doc.name, "a.txt", f"The invoice {self.word}")
		source = self.source(with_attachments=1, filters='{"status": "Open"}')
		for status, count in (("Closed", 0), ("Open", 1), ("Closed", 0), ("Open", 1)):
			doc.update({"status": status}).save()
			frappe.db.commit()
			index_source(source, gather=False)
			self.assertEqual(len(find(self.word, source)), count, status)
		frappe.rename_doc(CASE, doc.name, f"{doc.name}-2", force=True)
		frappe.db.commit()
		index_source(source, gather=False)
		self.assertEqual(len(find(self.word, source)), 1)

	def test_reindexing_unchanged_documents_writes_no_chunks(self):
		make_case(title=f"Roof {self.word}")
		source = self.source()
		before = frappe.get_all(CHUNK, fields=["name", "creation"], order_by="name")
		index_source(source, again=True)
		self.assertEqual(frappe.get_all(CHUNK, fields=["name", "creation"], order_by="name"), before)

	def test_texts_are_stemmed_before_the_transaction_that_stores_them(self):
		for title in ("Roof", "Gutter", "Window"):
			make_case(title=f"{title} {self.word}")
		written = []

		def make_text(*args):
			written.append(frappe.db.transaction_writes)
			return make_index_text(*args)

		make_index_text = index_text.make_index_text
		with patch.object(index_text, "make_index_text", make_text):
			self.assertEqual(len(find(self.word, self.source())), 3)
		self.assertEqual(set(written), {0})

	def test_a_change_while_a_document_is_read_is_not_lost(self):
		doc = make_case(title=f"Roof {self.word}")
		source = self.source()
		store.mark_waiting({"source": source})
		items = store.list_waiting_items(source, 500)
		item = next(each for each in items if each.reference_name == doc.name)
		content = indexing.read_item_content(item)
		doc.update({"title": f"Gutter {self.word}"}).save()
		indexing.store_content(item, content)
		self.assertEqual(frappe.db.get_value(ITEM, item.name, "state"), "Waiting")
		index_source(source, gather=False)
		self.assertIn("Gutter", texts(self.word, source)[0])

	def test_a_source_with_waiting_items_is_unfinished_until_indexed(self):
		source = self.source()
		make_case(title="Roof")
		self.assertIn(source, store.list_unfinished_sources())
		index_source(source)
		self.assertNotIn(source, store.list_unfinished_sources())

	def test_changed_filters_are_applied_by_a_job_queued_for_waiting_items(self):
		source = self.source(filters='{"status": "Open"}')
		make_case(title=f"Roof {self.word}", status="Closed")
		frappe.get_doc(SOURCE, source).update({"filters": '[["status", "=", "Closed"]]'}).save()
		index_source(source, gather=False)
		self.assertEqual(len(find(self.word, source)), 1)

	def test_an_index_request_during_a_job_is_handled_by_that_job(self):
		source = self.source()
		doc = make_case(title=f"Roof {self.word}")
		store.delete_items(store.find_document_items(CASE, doc.name))
		with patch.object(indexing, "sync_items", self.request_again_before(indexing.sync_items)):
			index_source(source)
		self.assertEqual(len(find(self.word, source)), 1)
		self.assertFalse(frappe.db.get_value(SOURCE, source, "requested"))

	def request_again_before(self, sync):
		"""Simulates a user who requests indexing again while items of the first sync are read."""

		def run(source, again):
			if self.requested:
				return sync(source, again)
			self.requested = True
			indexing.request_index(source.name)

		self.requested = False
		return run

	def test_a_dry_run_indexes_nothing_and_its_preview_omits_the_index(self):
		doc, source = make_case(title=f"Roof {self.word}"), self.source()
		work = partial(document_tools.set_value, CASE, doc.name, "title", f"Gutter {self.word}")
		(change,) = preview_changes(work).changes
		self.assertEqual(change["name"], doc.name)
		frappe.db.rollback()
		self.assertEqual(frappe.db.count(ITEM, {"source": source, "state": "Waiting"}), 0)
		self.assertIn("Roof", texts(self.word, source)[0])

	def test_an_item_that_kills_its_worker_fails_and_others_are_indexed(self):
		make_case(title=f"Roof {self.word}")
		fatal, source = make_case(title=f"Gutter {self.word}"), self.source(index=False)
		store.set_state(source, store.IndexState.INDEXING)
		original = indexing.sources.read_item_parts

		def read_item(item):
			if item.reference_name == fatal.name:
				raise SystemExit
			return original(item)

		with patch.object(indexing.sources, "read_item_parts", read_item):
			self.assertRaises(SystemExit, index_source, source)
			index_source(source, gather=False)
		self.assertEqual(len(find(self.word, source)), 1)
		failed = frappe.get_all(ITEM, {"source": source, "state": "Failed"}, pluck="reference_name")
		self.assertEqual(failed, [fatal.name])

	def test_a_missing_doctype_is_reported_and_search_returns_no_results(self):
		source = self.source()
		frappe.db.set_value(SOURCE, source, "reference_doctype", "No Such DocType")
		frappe.db.set_value(ITEM, {"source": source}, "reference_doctype", "No Such DocType")
		self.assertEqual(find("roof", source), [])
		index_source(source)
		self.assertIn("No Such DocType", frappe.db.get_value(SOURCE, source, "error"))

	def test_a_form_cannot_set_the_state_of_a_source(self):
		source = self.source()
		doc = frappe.get_doc(SOURCE, source).update({"state": "Failed", "error": "x"}).save()
		self.assertEqual((doc.state, doc.error), ("Ready", None))

	def test_sources_with_invalid_doctypes_fields_or_filters_are_refused(self):
		for values in (
			{"reference_doctype": "Huf Test Order Line"},
			{"reference_doctype": "Huf Settings"},
			{"reference_doctype": CASE, "document_fields": "pin"},
			{"reference_doctype": CASE, "document_fields": "title\nno_such"},
			{"reference_doctype": CASE, "filters": '{"no_such": 1}'},
			{"reference_doctype": CASE, "filters": "open"},
		):
			with self.subTest(values), self.assertRaises(frappe.ValidationError):
				make_source(**values)

	def test_filters_that_are_refused_are_explained_in_one_message(self):
		for filters in ('{"no_such": 1}', '{"status": ["~", "Open"]}'):
			with self.subTest(filters):
				messages = len(frappe.local.message_log)
				with self.assertRaisesRegex(frappe.ValidationError, "Filters must be JSON") as raised:
					make_source(reference_doctype=CASE, filters=filters)
				self.assertNotIn("cannot be listed", str(raised.exception))
				self.assertEqual(len(frappe.local.message_log), messages + 1)

	def test_managers_choose_only_documents_and_filters_that_they_may_read(self):
		hidden = {"reference_doctype": CASE, "filters": '{"fee": ["like", "1%"]}'}
		for roles, values in (([], {"reference_doctype": CASE}), ([EDITOR], hidden)):
			with acting_as(make_user("Huf Manager", *roles)), self.assertRaises(frappe.PermissionError):
				make_source(index=False, **values)
		source = make_source(**hidden)
		with acting_as(make_user("Huf Manager", EDITOR)):
			make_source(index=False, reference_doctype=CASE, filters='{"status": "Open"}')
			doc = frappe.get_doc(SOURCE, source).update({"description": "Of a System Manager"}).save()
			doc.update({"disabled": 1}).save()
			with self.assertRaises(frappe.PermissionError):
				doc.update({"disabled": 0}).save()
