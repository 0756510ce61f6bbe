"""A process that only runs jobs, beside the server or on its own: `huf worker`."""

import signal
import threading
from pathlib import Path


def work(home: Path, site: str, threads: int):
	"""Run the site's jobs until SIGINT or SIGTERM; running ones get ten seconds to end."""
	from frappe.utils.job_worker import Worker

	stopping = threading.Event()
	for number in (signal.SIGINT, signal.SIGTERM):
		signal.signal(number, lambda *_: stopping.set())
	worker = Worker(site, str(home / "sites"), threads).start()
	while not stopping.wait(0.5):  # a wait without an end is not interrupted by Ctrl-C on Windows
		pass
	worker.stop(seconds=10)
