"""Loads what asks models, in the background of a started server; only on a site that has a model."""

import asyncio
import threading

import frappe


class Loader:
	def __init__(self, site: str, sites_path: str):
		self.site, self.sites_path = site, sites_path

	def start(self):
		threading.Thread(target=self.load, name="huf-load", daemon=True).start()

	def stop(self):
		"""It ends by itself, or with the process."""

	def load(self):
		frappe.init(self.site, sites_path=self.sites_path)
		frappe.connect()
		try:
			needed = bool(frappe.db.count("AI Model"))
		finally:
			frappe.destroy()
		if needed:
			from huf.ai.concurrency.event_loops import run_on_model_loop
			from huf.ai.providers.litellm import warm_up

			asyncio.run(run_on_model_loop(warm_up()))
