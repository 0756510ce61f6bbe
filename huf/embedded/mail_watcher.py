"""Threads that wait for new mail by IMAP IDLE, one per mailbox, so that mail is fetched as it arrives.

The schedule also reads every mailbox each minute, so nothing is lost that a thread misses.
"""

import threading
import time

from huf.embedded.site_thread import SiteThread

MAX_WATCHERS = 8
LOOK_SECONDS = 5
WAIT_SECONDS = 60
REST_SECONDS = 30
"""Pause after a server was unreachable or turned out not to support IDLE."""


class MailWatcher(SiteThread):
	"""Keeps a thread for each of the first few mailboxes."""

	title = "Mail Watcher"

	def __init__(self, site: str, sites_path: str = "."):
		super().__init__(site, sites_path)
		self.watched: set[str] = set()

	def work(self):
		while not self.stopping.wait(LOOK_SECONDS):
			wanted = self.on_site(names_of_mailboxes) or []
			for name in wanted:
				if name not in self.watched and len(self.watched) < MAX_WATCHERS:
					self.watched.add(name)
					threading.Thread(target=self.watch, args=(name,), daemon=True).start()

	def watch(self, name: str):
		"""Watch a mailbox until it is deleted, disabled, or no longer to be watched."""
		while not self.stopping.is_set() and name in (self.on_site(names_of_mailboxes) or ()):
			if not self.on_site(watch_once, name) and self.stopping.wait(REST_SECONDS):
				break
		self.watched.discard(name)


def names_of_mailboxes() -> list[str]:
	import frappe

	if not frappe.db.exists("DocType", "Agent Mailbox"):
		return []
	filters = {"enabled": 1, "use_idle": 1, "imap_host": ["is", "set"]}
	return frappe.get_all("Agent Mailbox", filters, pluck="name", order_by="name asc")


def watch_once(name: str) -> bool:
	"""Wait for mail once. Returns whether to wait again without a pause."""
	import frappe

	from huf.ai.mail.intake import watch_mailbox

	began = time.monotonic()
	taken = watch_mailbox(name, WAIT_SECONDS)
	if not taken and time.monotonic() - began < 1:
		return False
	return not frappe.db.get_value("Agent Mailbox", name, "last_error")
