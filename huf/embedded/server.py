"""The one process of an embedded site: web server, Socket.IO, job workers and the schedule.

gunicorn with one worker process and many threads, Werkzeug's threaded server on Windows.  Our own threads
start in the process that answers requests, after the fork.  A file lock keeps a second server from the
same folder.
"""

import contextlib
import errno
import json
import os
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from itertools import chain
from pathlib import Path

from werkzeug.wrappers import Response
from werkzeug.wsgi import ClosingIterator

from huf.embedded.site import SITE

THREADS, MAX_STREAMS = 320, 256
"""Each stream and each open page occupies a thread; the rest is left for other requests."""
KEEP_ALIVE_S = 75
"""Longer than clients and proxies keep connections, because a client may reuse one just as the server closes
it.
"""
SWITCH_INTERVAL_S = 0.001
"""How long a busy thread may hold the GIL: a fifth of the default."""


TOO_MANY = "Too many streams are open. Close other pages, or try again in a moment.\n"
RECEIVED = "Too many streams are open. What you sent was received: look at its conversation in a moment.\n"
NOT_HERE = "{0} is not an address of this machine. Leave --host out, or use 0.0.0.0."


class CannotStart(Exception):
	"""The server cannot start; the message says what to do."""


class Services:
	"""The services beside the web application: jobs, schedule, realtime, mail watcher."""

	def __init__(self, site: str, sites_path: str):
		from frappe.utils.job_worker import Worker
		from frappe.utils.scheduler import Scheduler

		from huf.embedded.loader import Loader
		from huf.embedded.mail_watcher import MailWatcher
		from huf.embedded.realtime_server import RealtimeServer

		self.realtime = RealtimeServer(site, sites_path)
		self.parts = [self.realtime, Worker(site, sites_path), Scheduler(site, sites_path)]
		self.parts += [MailWatcher(site, sites_path), Loader(site, sites_path)]

	def start(self):
		# Many streams share the process, and a busy one must not delay the others.
		sys.setswitchinterval(SWITCH_INTERVAL_S)
		for part in self.parts:
			part.start()

	def stop(self):
		for part in reversed(self.parts):
			part.stop()


class StreamLimit:
	"""A WSGI middleware that limits the number of concurrent long-lived requests."""

	def __init__(self, application: Callable, max_streams: int = MAX_STREAMS):
		self.application = application
		self.slots = threading.BoundedSemaphore(max_streams)

	def __call__(self, environ: dict, start_response: Callable):
		if environ["PATH_INFO"].startswith("/socket.io"):
			return self.answer_slowly(environ, start_response)
		has_slot = None

		def start(status: str, headers: list, exc_info=None):
			nonlocal has_slot
			if ("Content-Type", "text/event-stream; charset=utf-8") in headers:
				has_slot = self.slots.acquire(blocking=False)
			return start_response(status, headers, exc_info) if has_slot is not False else lambda _data: None

		body = self.application(environ, start)
		if has_slot is False:
			body.close()
			return refuse(environ, start_response)
		if not has_slot:
			return body
		ending = ExitStack()  # also frees the slot if the end of the stream fails
		ending.callback(self.slots.release)
		ending.callback(body.close)
		# `chain` hides the body's own `close`, so that it is called once.
		return ClosingIterator(chain(body), ending.close)

	def answer_slowly(self, environ: dict, start_response: Callable):
		"""Answer a Socket.IO request within the limit. A websocket is served within the call; a poll waits in
		it for an event.
		"""
		if not self.slots.acquire(blocking=False):
			return refuse(environ, start_response)
		try:
			return self.application(environ, start_response)
		finally:
			self.slots.release()


def refuse(environ: dict, start_response: Callable):
	"""A message whose answer cannot be streamed has been received, so clients must not send it again."""
	is_message = environ["REQUEST_METHOD"] == "POST" and not environ["PATH_INFO"].startswith("/socket.io")
	text, headers = (
		(RECEIVED, {"x-should-retry": "false"}) if is_message else (TOO_MANY, {"Retry-After": "5"})
	)
	return Response(text, 503, headers)(environ, start_response)


def make_application(services: Services, sites_path: str):
	"""Frappe's WSGI application for this runtime, with Socket.IO in front."""
	import frappe.app

	frappe.app._site, frappe.app._sites_path = SITE, sites_path
	return StreamLimit(services.realtime.wrap(frappe.app.application))


def serve(home: Path, host: str, port: int, prepare: Callable[[], None], on_ready: Callable[[], None]):
	"""Serve the site of `home` until SIGINT or SIGTERM.  Raises CannotStart.

	`prepare` creates or migrates the site. It is called once nothing prevents serving it.
	"""
	advice = "Open that address, or use another home: huf --home <folder> start"
	with only_server(home, url_of(host, port), advice):
		refuse_if_port_is_taken(host, port)
		prepare()
		run = run_werkzeug if sys.platform == "win32" else run_gunicorn
		run(str(home / "sites"), host, port, on_ready)


def url_of(host: str, port: int) -> str:
	"""The address for a browser on this machine."""
	host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104 (an address to compare)
	return f"http://{f'[{host}]' if ':' in host else host}:{port}"


@contextlib.contextmanager
def only_server(home: Path, url: str, advice: str) -> Iterator[None]:
	"""Hold the folder's lock; server.json says which process does. The message of CannotStart ends with
	`advice`.
	"""
	from filelock import FileLock, Timeout

	home.mkdir(parents=True, exist_ok=True)
	lock, note, process = FileLock(home / "server.lock"), home / "server.json", os.getpid()
	try:
		lock.acquire(timeout=0)
	except Timeout:
		raise CannotStart(f"{_who_runs(home, note)}\n{advice}") from None
	try:
		note.write_text(json.dumps({"pid": process, "url": url}))
		yield
	finally:
		if os.getpid() == process:  # gunicorn's worker ends here too
			note.unlink(missing_ok=True)
		lock.release()


def _who_runs(home: Path, note: Path) -> str:
	try:
		other = json.loads(note.read_text())
	except (OSError, ValueError):
		return f"Another Huf is using {home}."
	return (
		f"Huf is already running for {home}: {other['url']} (pid {other['pid']}).\n"
		f"Ctrl-C in its terminal or `kill {other['pid']}` stops it."
	)


def refuse_if_port_is_taken(host: str, port: int):
	try:
		family, kind, protocol, _name, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
		with socket.socket(family, kind, protocol) as probe:
			if sys.platform != "win32":
				probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
			probe.bind(address)
	except socket.gaierror:
		raise CannotStart(NOT_HERE.format(host)) from None
	except PermissionError:
		raise CannotStart(
			f"Port {port} needs special rights. Take a port above 1023, such as --port 8000."
		) from None
	except OSError as error:
		if error.errno == errno.EADDRNOTAVAIL:
			raise CannotStart(NOT_HERE.format(host)) from None
		raise CannotStart(
			f"Port {port} on {host} is taken or not usable ({error.strerror}).\n"
			f"Take another one, such as --port {port + 1 if port < 65535 else 8000}."
		) from None


def run_gunicorn(sites_path: str, host: str, port: int, on_ready: Callable[[], None]):
	from gunicorn.app.base import BaseApplication

	from huf.embedded.http_worker import BoundedWorker

	class Server(BaseApplication):
		def load_config(self):
			bind = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
			options = {
				"bind": bind,
				"workers": 1,
				"worker_class": BoundedWorker,
				"threads": THREADS,
				"keepalive": KEEP_ALIVE_S,
				"graceful_timeout": 1,
				"timeout": 120,
				"sendfile": False,  # it would bypass the limits of TimedSocket
				"loglevel": "error",
				"proc_name": "huf",
				"post_worker_init": lambda worker: (self.services.start(), on_ready()),
				"worker_exit": lambda arbiter, worker: self.services.stop(),
			}
			# Newer versions put a socket into the user's home.
			if "control_socket_disable" in self.cfg.settings:
				options["control_socket_disable"] = True
			for name, value in options.items():
				self.cfg.set(name, value)

		def load(self):
			self.services = Services(SITE, sites_path)
			return make_application(self.services, sites_path)

	Server().run()


def run_werkzeug(sites_path: str, host: str, port: int, on_ready: Callable[[], None]):
	from werkzeug.serving import make_server

	services = Services(SITE, sites_path)
	server = make_server(host, port, make_application(services, sites_path), threaded=True)
	services.start()
	threading.Thread(target=on_ready, daemon=True).start()
	try:
		server.serve_forever()
	except KeyboardInterrupt:
		pass
	finally:
		services.stop()
