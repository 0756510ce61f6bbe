"""Imports the code for model calls in the background after the server has started, if the site has a
model.
"""

import asyncio

import frappe

from huf.embedded.site_thread import SiteThread


class Loader(SiteThread):
	title = "Loader"

	def work(self) -> None:
		needs_litellm = self.on_site(import_model_code)
		if needs_litellm is not None:
			from huf.ai.core.event_loops import run_on_model_loop
			from huf.ai.providers.litellm import warm_up

			asyncio.run(run_on_model_loop(warm_up(needs_litellm)))


def import_model_code() -> bool | None:
	"""Whether the site's models need LiteLLM; None if there are none."""
	if not frappe.db.count("AI Model"):
		return None
	import huf.ai.agents.tool_factory
	import huf.ai.runs.entry  # noqa: F401
	from huf.ai.providers.learned_calls import open_site_store

	return open_site_store().needs_litellm
