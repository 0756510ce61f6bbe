"""Imports the code for model calls in the background after the server has started, if the site has a
model.
"""

import asyncio
import threading

import frappe
from frappe.site_local import opened


class Loader:
	def __init__(self, site: str, sites_path: str):
		self.site, self.sites_path = site, sites_path

	def start(self):
		threading.Thread(target=self.load, name="huf-load", daemon=True).start()

	def stop(self):
		"""Does nothing: the thread ends after the import, or with the process."""

	def load(self):
		with opened(self.site, self.sites_path):
			if not frappe.db.count("AI Model"):
				return
			import huf.ai.agents.tool_factory
			import huf.ai.runs.entry  # noqa: F401
			from huf.ai.core.event_loops import run_on_model_loop
			from huf.ai.providers.learned_calls import open_site_store
			from huf.ai.providers.litellm import warm_up

			needs_litellm = open_site_store().needs_litellm
		asyncio.run(run_on_model_loop(warm_up(needs_litellm)))
