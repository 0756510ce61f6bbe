"""Search by meaning is combined with word search, has the same permissions, and never blocks it."""

import json
from unittest.mock import patch

import frappe

from huf.ai.core.session import acting_as
from huf.ai.dry_run import isolation
from huf.ai.knowledge.indexing import index_source
from huf.ai.knowledge.store import CHUNK, SOURCE, read_items
from huf.ai.storage import stops
from huf.tests import model_server
from huf.tests.base import SiteTestCase, enter
from huf.tests.doctypes import CASE, EDITOR, make_case, make_doctypes
from huf.tests.factories import make, make_model, make_user, unique
from huf.tests.knowledge import find, make_source, texts
from huf.tests.model_server import ModelServer


class TestMeaning(SiteTestCase):
	def setUp(self):
		super().setUp()
		self.server = enter(self, ModelServer())
		self.model = make_model(self.server)
		self.files = (("a.txt", "The roof of the house leaks"), ("b.txt", "A bill for gutters"))

	def list_embedding_requests(self) -> list:
		return [
			body
			for body, path in zip(self.server.requests, self.server.paths, strict=True)
			if "embed" in path
		]

	def test_vectors_are_stored_and_a_related_passage_ranks_first(self):
		source = make_source(*self.files, embedding_model=self.model)
		self.assertEqual(
			frappe.db.count(CHUNK, {"vector": ["is", "set"], "item": ["in", list(read_items(source))]}), 2
		)
		self.assertIn("leaks", texts("house roof that drips", source)[0])

	def test_a_source_without_an_embedding_model_makes_no_embedding_call(self):
		source = make_source(*self.files)
		find("roof", source)
		self.assertEqual(self.list_embedding_requests(), [])

	def test_unchanged_text_is_not_embedded_again(self):
		source = make_source(*self.files, embedding_model=self.model)
		before = len(self.list_embedding_requests())
		index_source(source, again=True)
		self.assertEqual(len(self.list_embedding_requests()), before)

	def test_search_by_words_works_while_the_embedding_model_is_down(self):
		provider = make("AI Provider", provide_name=unique("Gone"), is_local=1, api_base="http://127.0.0.1:9")
		model = make("AI Model", model_name=unique("gone"), provider=provider.name).name
		source = make_source(*self.files, embedding_model=model)
		self.assertEqual({row.state for row in read_items(source).values()}, {"Failed"})
		self.assertEqual(texts("roof", source), ["The roof of the house leaks"])

	def test_search_by_words_works_while_the_embedding_model_returns_no_vectors(self):
		source = make_source(*self.files, embedding_model=self.model)
		for vector in (None, [], "x", {"a": 1}, ["a"], [None], [[1.0], [2.0]], [float("nan")], [1e308]):
			data = [{"object": "embedding", "index": 0, "embedding": vector}]
			self.assert_only_words_are_searched(source, {"data": data})
		self.assert_only_words_are_searched(source, {"data": None})

	def assert_only_words_are_searched(self, source: str, answer: dict):
		answer = {"object": "list", "model": "m", "usage": {"prompt_tokens": 1, "total_tokens": 1}, **answer}
		with self.subTest(answer), patch.object(model_server, "embeddings", lambda body: answer):
			self.assertEqual(texts("roof", source), ["The roof of the house leaks"])
			other = make_source(*self.files, embedding_model=self.model)
			for row in read_items(other).values():
				self.assertEqual(row.state, "Failed")
				self.assertRegex(row.error, "vectors|could not be read|failed")

	def test_no_embedding_call_is_made_in_a_write_transaction(self):
		source = make_source(*self.files, embedding_model=self.model)
		before = len(self.list_embedding_requests())
		frappe.db.set_value(SOURCE, source, "description", "x")
		self.assertEqual(texts("roof", source), ["The roof of the house leaks"])
		self.assertEqual(len(self.list_embedding_requests()), before)

	def test_a_query_embedding_sends_only_the_query_and_search_checks_permissions(self):
		make_doctypes()
		canary = f"canary{frappe.generate_hash(length=12)}"
		make_case(title="Roof", fee=f"roof {canary}")
		source = make_source(reference_doctype=CASE, document_fields="title\nfee", embedding_model=self.model)
		before = len(self.list_embedding_requests())
		found = find(f"roof {canary[:8]}", source, make_user("Huf User", EDITOR))
		self.assertTrue(found)
		self.assertNotIn(canary, json.dumps(found))
		self.assertEqual(
			[body["input"] for body in self.list_embedding_requests()[before:]], [[f"roof {canary[:8]}"]]
		)
		self.assertEqual(find("roof", source, make_user("Huf User")), [])

	def test_only_system_managers_have_documents_embedded(self):
		make_doctypes()
		with acting_as(make_user("Huf Manager", EDITOR)):
			make_source(*self.files, index=False, embedding_model=self.model)
			with self.assertRaisesRegex(frappe.PermissionError, "receives the texts of all"):
				make_source(reference_doctype=CASE, index=False, embedding_model=self.model)

	def test_only_system_managers_change_where_the_texts_of_documents_are_sent(self):
		make_doctypes()
		model, other = make_model(self.server), make_model(self.server)
		make_source(reference_doctype=CASE, index=False, embedding_model=model)
		make_source(reference_doctype=CASE, index=False)
		provider, elsewhere = (frappe.db.get_value("AI Model", each, "provider") for each in (model, other))
		changes = (
			("AI Provider", provider, {"api_base": "https://elsewhere.example/v1", "api_key": "my own"}),
			("AI Provider", provider, {"api_key": "my own"}),
			("AI Model", model, {"provider": elsewhere}),
			("AI Model", model, {"model_id": "openrouter/other"}),
		)
		for doctype, name, values in changes:
			with self.subTest(values), acting_as(make_user("Huf Manager")):
				with self.assertRaisesRegex(frappe.PermissionError, "receives the texts of all"):
					frappe.get_doc(doctype, name).update(values).save()
				frappe.get_doc(doctype, name).save()
		with acting_as(make_user("Huf Manager")):
			frappe.get_doc("AI Provider", elsewhere).update({"api_key": "my own"}).save()
		with acting_as(make_user("Huf Manager", "System Manager")):
			frappe.get_doc("AI Model", model).update({"provider": elsewhere}).save()

	def test_embeddings_count_towards_budgets_and_at_the_limit_words_are_searched(self):
		user = make_user("Huf Manager")
		frappe.set_user(user)
		self.addCleanup(frappe.set_user, "Administrator")
		self.addCleanup(self.set_token_limit, 0)
		self.set_token_limit(1_000)
		source = make_source(*self.files, embedding_model=self.model)
		budget = frappe.db.get_value(
			"Agent Budget", {"holder": user, "scope": "user"}, ["tokens", "reserved_tokens"]
		)
		self.assertGreater(budget[0], 0)
		self.assertEqual(budget[1], 0)
		self.set_token_limit(budget[0] + 3)
		before = len(self.list_embedding_requests())
		self.assertEqual(texts("roof", source, user), ["The roof of the house leaks"])
		other = make_source(*self.files, embedding_model=self.model)
		for row in read_items(other).values():
			self.assertIn("leaves too little", row.error)
		self.assertEqual(len(self.list_embedding_requests()), before)

	def test_a_stop_blocks_embedding_calls_but_not_word_search(self):
		source = make_source(*self.files, embedding_model=self.model)
		stop = stops.add_stop("All", None, "for the test")
		frappe.db.commit()
		self.addCleanup(frappe.db.commit)
		self.addCleanup(stops.remove_stop, stop["name"])
		before = len(self.list_embedding_requests())
		self.assertEqual(texts("roof", source), ["The roof of the house leaks"])
		self.assertEqual(len(self.list_embedding_requests()), before)

	def test_a_dry_run_makes_no_embedding_call(self):
		source = make_source(*self.files, embedding_model=self.model)
		before = len(self.list_embedding_requests())
		with isolation.isolated():
			self.assertEqual(texts("roof", source), ["The roof of the house leaks"])
		self.assertEqual(len(self.list_embedding_requests()), before)

	def set_token_limit(self, tokens: int) -> None:
		"""Set the tokens that a user may use per day."""
		frappe.db.set_single_value("Huf Settings", "user_daily_token_limit", tokens)
		frappe.db.commit()
