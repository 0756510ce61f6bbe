"""A server with a model loads the code for model calls in the background, and LiteLLM if needed."""

import contextvars
import tempfile
from pathlib import Path
from unittest.mock import patch

import frappe

from huf.ai.providers import direct_path_check, learned_calls
from huf.ai.providers.direct_path import RequestTemplate
from huf.ai.providers.learned_calls import CallStore, LearnedCall
from huf.embedded.loader import Loader
from huf.tests.base import SiteTestCase
from huf.tests.factories import make, unique

LEARNED = LearnedCall(RequestTemplate("http://127.0.0.1:1", (), {}, 0, ""), "local", {}, "", "")


class TestLoader(SiteTestCase):
	def setUp(self):
		super().setUp()
		self.loader = Loader(frappe.local.site, frappe.local.sites_path)
		known = dict(direct_path_check.results)
		direct_path_check.results.clear()
		self.addCleanup(direct_path_check.results.update, known)
		folder = tempfile.TemporaryDirectory()
		self.addCleanup(folder.cleanup)
		self.store = CallStore(str(Path(folder.name, "calls.json")))
		patched = patch.object(learned_calls, "open_site_store", lambda: self.store)
		patched.start()
		self.addCleanup(patched.stop)

	def test_litellm_is_loaded_only_when_a_stored_call_needs_it(self):
		self.make_model()
		self.store.add("one", LEARNED)
		self.load()
		self.assertEqual(direct_path_check.results, {})
		self.store.add("other", None)
		self.load()
		self.assertEqual(len(direct_path_check.results), 2)
		self.assertEqual(
			[found for found in direct_path_check.results.values() if isinstance(found, str)], []
		)

	def test_without_a_model_nothing_is_loaded(self):
		for model in frappe.get_all("AI Model", pluck="name", order_by="name asc"):
			frappe.db.delete("AI Model", model)
		frappe.db.commit()
		self.load()
		self.assertEqual(direct_path_check.results, {})

	def make_model(self):
		provider = make("AI Provider", provide_name=unique("Local"), is_local=1)
		make("AI Model", model_name=unique("local"), provider=provider.name)
		frappe.db.commit()

	def load(self):
		# In a new context it opens its own database connection, as in its thread.
		contextvars.Context().run(self.loader.work)
