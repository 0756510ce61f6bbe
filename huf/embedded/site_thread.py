"""Threads beside the web server that work on the site until it is stopped."""

import threading
import traceback
from collections.abc import Callable
from typing import Any


class SiteThread:
	"""One thread, which runs `work`. `title`: what its Error Logs are called."""

	title = ""

	def __init__(self, site: str, sites_path: str = "."):
		self.site, self.sites_path = site, sites_path
		self.stopping = threading.Event()
		self.thread = threading.Thread(target=self.work, daemon=True)

	def start(self):
		self.thread.start()
		return self

	def stop(self):
		self.stopping.set()

	def work(self) -> None:
		raise NotImplementedError

	def on_site(self, function: Callable, *args: Any) -> Any:
		"""Call a function on a separate connection. Errors are logged, and None is returned."""
		from frappe.site_local import opened
		from frappe.utils.error import try_to_log_error

		try:
			with opened(self.site, self.sites_path):
				try:
					return function(*args)
				except Exception:  # logged on the site
					try_to_log_error(self.title)
		except Exception:  # the outermost function of a thread: one bad turn must not end it
			traceback.print_exc()
		return None
