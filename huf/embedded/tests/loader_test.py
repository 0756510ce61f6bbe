"""What asks models is loaded beside the server where there is a model, and nowhere else."""

import contextvars

import frappe

from huf.ai.providers import direct_path_check
from huf.embedded.loader import Loader
from huf.tests.base import SiteTestCase
from huf.tests.factories import make, unique


class TestLoader(SiteTestCase):
	def setUp(self):
		super().setUp()
		self.loader = Loader(frappe.local.site, frappe.local.sites_path)
		known = dict(direct_path_check.results)
		direct_path_check.results.clear()
		self.addCleanup(direct_path_check.results.update, known)

	def test_the_first_call_finds_everything_loaded(self):
		provider = make("AI Provider", provide_name=unique("Local"), is_local=1)
		make("AI Model", model_name=unique("local"), provider=provider.name)
		frappe.db.commit()
		self.load()
		self.assertEqual(
			[found for found in direct_path_check.results.values() if isinstance(found, str)], []
		)
		self.assertEqual(len(direct_path_check.results), 2)

	def test_without_a_model_nothing_is_loaded(self):
		for model in frappe.get_all("AI Model", pluck="name", order_by="name asc"):
			frappe.db.delete("AI Model", model)
		frappe.db.commit()
		self.load()
		self.assertEqual(direct_path_check.results, {})

	def load(self):
		# It has a connection of its own, as on its thread.
		contextvars.Context().run(self.loader.load)
