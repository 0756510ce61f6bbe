"""A process that only runs jobs, with or without a server: `huf worker`."""

import signal
import threading
from pathlib import Path


def work(home: Path, site: str, threads: int):
	"""Run the site's jobs until SIGINT or SIGTERM. Running jobs get ten seconds to end."""
	from frappe.utils.job_worker import Worker

	stopping = threading.Event()
	for number in (signal.SIGINT, signal.SIGTERM):
		signal.signal(number, lambda *_: stopping.set())
	worker = Worker(site, str(home / "sites"), threads).start()
	while not stopping.wait(0.5):  # on Windows, Ctrl-C does not interrupt a wait without a time-out
		pass
	worker.stop(seconds=10)
