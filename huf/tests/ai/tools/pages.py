"""Real servers on loopback for the tests of web tools; a test declares which addresses count as public."""

import gzip
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from unittest.mock import patch

from huf.ai.tools import http

ARTICLE = (
	"<html><head><title>The roof</title></head><body><nav>Menu Home About</nav><article><h1>The roof</h1>"
	+ f"<p>{'It leaks in the north. ' * 20}</p><script>evil()</script></article></body></html>"
)


class Pages(BaseHTTPRequestHandler):
	"""Serves `server.pages`: path -> (status, content type, body or function of the handler, headers)."""

	def do_GET(self):
		self.server.seen.append(self.path)
		status, kind, body, headers = self.server.pages.get(self.path, (404, "text/plain", b"", {}))
		if callable(body):
			return body(self)
		self.send_response(status)
		for name, value in {"Content-Type": kind, "Content-Length": str(len(body)), **headers}.items():
			self.send_header(name, value)
		self.end_headers()
		self.wfile.write(body)

	def log_message(self, *args):
		pass


class Site:
	"""One server; `add` returns the URL of a page."""

	def __init__(self, test, host: str = "127.0.0.1"):
		self.server = ThreadingHTTPServer((host, 0), Pages)
		self.server.pages, self.server.seen = {}, []
		threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True).start()
		test.addCleanup(self.server.server_close)
		test.addCleanup(self.server.shutdown)
		self.port = self.server.server_address[1]
		self.url = f"http://{host}:{self.port}"
		self.seen = self.server.seen

	def add(
		self, path: str, body="", kind: str = "text/html; charset=utf-8", status: int = 200, **headers
	) -> str:
		content = body.encode() if isinstance(body, str) else body
		self.server.pages[path] = (status, kind, content, headers)
		return self.url + path

	def redirect(self, path: str, target: str) -> str:
		return self.add(path, status=302, Location=target)

	def bomb(self, path: str) -> str:
		"""A page of a few kilobytes that unpacks to 64 megabytes."""
		return self.add(path, gzip.compress(bytes(64_000_000)), **{"Content-Encoding": "gzip"})

	def endless(self, path: str, released: threading.Event) -> str:
		"""A page that begins and does not continue until `released` is set."""

		def begin(handler):
			handler.send_response(200)
			handler.send_header("Content-Type", "text/html")
			handler.end_headers()
			handler.wfile.write(b"<p>wait")
			handler.wfile.flush()
			released.wait(30)

		return self.add(path, begin)

	def answer_json(self, path: str, value) -> str:
		return self.add(path, json.dumps(value), "application/json")


def public(test, *addresses: str) -> None:
	"""During this test only these addresses are public."""
	patched = patch.object(http, "is_public", lambda address: address in addresses)
	patched.start()
	test.addCleanup(patched.stop)
