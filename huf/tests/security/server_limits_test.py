"""A running server still answers others while clients send slowly, send much or read slowly."""

import http.client
import json
import os
import shutil
import socket
import sys
import tempfile
import threading
import time
import unittest
import urllib.error
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from unittest import mock

import simple_websocket
from werkzeug.test import Client, EnvironBuilder
from werkzeug.wrappers import Response

from huf.embedded import http_worker
from huf.embedded.http_worker import BoundedWorker, LargeBodies, TimedSocket
from huf.embedded.realtime_server import MAX_REQUESTS_PER_USER
from huf.embedded.server import StreamLimit
from huf.embedded.tests.server_test import Server
from huf.tests.ports import find_free_port

PASSWORD = "violet kettle 93 moss"
MAX_ANSWER_S = 5.0
"""For the fastest of three requests."""
CONNECTION_COUNT, WAIT_PATH = 380, "/api/method/huf.embedded.tests.samples.wait"


@unittest.skipIf(sys.platform == "win32", "gunicorn is POSIX")
class TestSlowClients(unittest.TestCase):
	@classmethod
	def setUpClass(cls):
		cls.home, cls.port = Path(tempfile.mkdtemp(prefix="huf-test-")), find_free_port()
		cls.addClassCleanup(shutil.rmtree, cls.home, ignore_errors=True)
		cls.server = Server(cls.home, cls.port, HUF_ADMIN_PASSWORD=PASSWORD)
		cls.addClassCleanup(cls.server.stop)
		cls.cookie = cls.server.login(PASSWORD)

	def connect(self, sent: bytes, receive_bytes: int | None = None) -> socket.socket:
		client = socket.socket()
		self.addCleanup(client.close)
		if receive_bytes:
			client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_bytes)
		client.settimeout(30)
		client.connect(("127.0.0.1", self.port))
		client.sendall(sent)
		return client

	def assert_answers(self):
		self.assertLess(min(self.measure_answer() for _try in range(3)), MAX_ANSWER_S)

	def measure_answer(self) -> float:
		began = time.perf_counter()
		try:
			answer = self.server.call("/api/method/frappe.auth.get_logged_user", cookie=self.cookie)
		except TimeoutError:
			return time.perf_counter() - began
		self.assertEqual(json.load(answer)["message"], "Administrator")
		return time.perf_counter() - began

	def test_half_sent_bodies_do_not_block_other_requests(self):
		head = b"POST /api/method/ping HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\nhalf"
		for _client in range(300):
			self.connect(head)
		self.assert_answers()

	def test_half_sent_headers_and_idle_connections_do_not_block_other_requests(self):
		for number in range(300):
			self.connect(b"POST /api/method/ping HTTP/1.1\r\nHost:" if number % 2 else b"")
		self.assert_answers()

	def test_connections_that_send_their_request_late_are_answered(self):
		"""More connections than threads, as browsers open them in advance."""
		clients = [self.connect(b"") for _client in range(CONNECTION_COUNT)]
		time.sleep(2 * http_worker.PATIENCE_S)
		for client in clients:
			client.sendall(b"POST /api/method/ping HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}")
		self.assertEqual({client.recv(12) for client in clients}, {b"HTTP/1.1 200"})

	def test_a_request_shorter_than_its_content_length_gets_no_response(self):
		client = self.connect(b"POST /api/method/ping HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nhalf")
		client.shutdown(socket.SHUT_WR)
		self.assertEqual(client.recv(12), b"")

	def test_an_undecodable_session_cookie_returns_403(self):
		client = self.connect(b"GET /socket.io/?EIO=4 HTTP/1.1\r\nHost: x\r\nCookie: sid=\xff\r\n\r\n")
		self.assertEqual(client.recv(12), b"HTTP/1.1 403")

	def test_a_slowly_sent_request_is_disconnected(self):
		client = self.connect(b"POST /api/method/ping HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n")
		client.settimeout(1)
		began, is_open = time.perf_counter(), True
		while is_open and time.perf_counter() - began < 40:
			try:
				client.sendall(b"x")
				is_open = client.recv(1) != b""
			except TimeoutError:
				continue
			except OSError:
				is_open = False
		self.assertFalse(is_open)
		self.assertLess(time.perf_counter() - began, 25)

	def test_unread_responses_do_not_block_other_requests(self):
		file = {"file_name": "large.txt", "content": "x" * 5_000_000}
		url = json.load(self.server.call("/api/resource/File", file, self.cookie))["data"]["file_url"]
		request = f"GET {url} HTTP/1.1\r\nHost: x\r\n\r\n".encode()
		until = time.monotonic() + 15
		for client in [self.connect(request, receive_bytes=4096) for _client in range(390)]:
			# Of each response the beginning is read, unless the server has cut the connection or is busy.
			client.settimeout(max(0.1, until - time.monotonic()))
			with suppress(ConnectionResetError, TimeoutError):
				client.recv(1)
		self.assert_answers()

	def test_websockets_of_guests_and_above_the_limit_per_user_are_refused(self):
		url = f"ws://127.0.0.1:{self.port}/socket.io/?EIO=4&transport=websocket"
		for cookie in ("", "sid=Guest", "sid=wrong"):
			with self.assertRaisesRegex(simple_websocket.ConnectionError, "403"):
				simple_websocket.Client(url, headers={"Cookie": cookie})
		with self.assertRaisesRegex(simple_websocket.ConnectionError, "429"):
			for _page in range(MAX_REQUESTS_PER_USER + 1):
				page = simple_websocket.Client(url, headers={"Cookie": self.cookie})
				self.addCleanup(page.close)

	def test_a_burst_of_quick_requests_from_one_address_is_answered(self):
		together = threading.Barrier(256)

		def send(_number: int) -> int:
			together.wait(30)
			connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
			try:
				connection.request("POST", "/api/method/ping", "{}")
				return connection.getresponse().status
			finally:
				connection.close()

		with ThreadPoolExecutor(256) as pool:
			self.assertEqual(set(pool.map(send, range(256))), {200})

	def test_requests_that_wait_in_line_for_a_thread_are_answered(self):
		"""More slow requests than threads: none is disconnected while it waits."""
		together = threading.Barrier(CONNECTION_COUNT)

		def send(_number: int) -> int:
			together.wait(30)
			connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
			try:
				connection.request("GET", f"{WAIT_PATH}?seconds=1.5", headers={"Cookie": self.cookie})
				return connection.getresponse().status
			finally:
				connection.close()

		with ThreadPoolExecutor(CONNECTION_COUNT) as pool:
			self.assertEqual(set(pool.map(send, range(CONNECTION_COUNT))), {200})

	def test_a_connection_is_kept_for_more_requests(self):
		connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
		self.addCleanup(connection.close)
		sockets = set()
		for body in (None, "{}", "x" * 1_000_000, None):
			connection.request("POST" if body else "GET", "/api/method/ping", body)
			connection.getresponse().read()
			sockets.add(connection.sock)
		self.assertEqual(len(sockets), 1)

	def test_login_bodies_are_limited_and_large_documents_accepted(self):
		with self.assertRaises(urllib.error.HTTPError) as refused:
			self.server.call("/api/method/login", {"usr": "x" * 1_000_000, "pwd": "y"})
		self.assertEqual(refused.exception.code, 413)
		note = {"title": "long", "content": "word " * 200_000}
		created = json.load(self.server.call("/api/resource/Note", note, self.cookie))["data"]
		self.assertEqual(len(created["content"]), 1_000_000)

	def test_connections_per_address_are_limited(self):
		clients = [self.connect(b"") for _client in range(600)]
		self.assert_answers()
		time.sleep(1)
		closed = sum(self.is_closed(client) for client in clients)
		self.assertGreater(closed, 150)

	def is_closed(self, client: socket.socket) -> bool:
		client.settimeout(0.01)
		try:
			return client.recv(1) == b""
		except TimeoutError:
			return False
		except OSError:
			return True


class TestStreamLimit(unittest.TestCase):
	def setUp(self):
		self.closed = []

		def serve(environ, start_response):
			response = Response(iter(["data: 1\n\n"]), mimetype="text/event-stream")
			response.call_on_close(lambda: self.closed.append(environ["PATH_INFO"]))
			if environ["PATH_INFO"] == "/plain":
				response = Response("plain")
			return response(environ, start_response)

		self.serve = serve
		self.client = Client(StreamLimit(serve, max_streams=2))

	def test_streams_beyond_the_limit_are_refused_and_other_requests_answered(self):
		first, second = (self.client.get(path, buffered=False) for path in ("/a", "/b"))
		refused = self.client.get("/c")
		self.assertEqual((refused.status_code, self.closed), (503, ["/c"]))
		self.assertIn("Retry-After", refused.headers)
		self.assertEqual(self.client.get("/plain").text, "plain")
		first.close()
		self.assertEqual(self.client.get("/d").status_code, 200)
		second.close()

	def test_a_message_whose_stream_is_refused_is_not_sent_again(self):
		refused = Client(StreamLimit(self.serve, max_streams=0)).post("/a")
		self.assertEqual((refused.status_code, refused.headers["x-should-retry"]), (503, "false"))
		self.assertNotIn("Retry-After", refused.headers)
		self.assertIn("was received", refused.text)

	def test_a_failed_stream_releases_its_slot(self):
		def fail(environ, start_response):
			raise OSError("gone")

		limit = StreamLimit(fail, max_streams=1)
		for _attempt in range(3):
			with self.assertRaises(OSError):
				limit(EnvironBuilder("/socket.io/").get_environ(), lambda *_: None)

	def test_a_stream_whose_end_fails_releases_its_slot(self):
		def fail():
			raise OSError("gone")

		def serve(environ, start_response):
			response = Response(iter(["data: 1\n\n"]), mimetype="text/event-stream")
			response.call_on_close(fail)
			return response(environ, start_response)

		client = Client(StreamLimit(serve, max_streams=1))
		for _attempt in range(3):
			with self.assertRaisesRegex(OSError, "gone"):
				client.get("/a", buffered=True)


class TestLargeBodies(unittest.TestCase):
	def test_large_bodies_wait_for_room_and_are_refused_after_a_timeout(self):
		bodies, large = LargeBodies(), 0.4 * http_worker.MAX_LARGE_BYTES
		with bodies.admitted(large) as first, bodies.admitted(large) as second:
			with mock.patch.object(http_worker, "MAX_WAIT_S", 0.05), bodies.admitted(large) as third:
				self.assertEqual((first, second, third), (True, True, False))
			with bodies.admitted(1000) as small:
				self.assertTrue(small)
			waiting = threading.Thread(target=self.enter, args=(bodies, large))
			waiting.start()
		waiting.join(10)
		self.assertFalse(waiting.is_alive())
		self.assertEqual(bodies.free, http_worker.MAX_LARGE_BYTES)

	def enter(self, bodies: LargeBodies, size: float) -> None:
		with bodies.admitted(size) as is_admitted:
			self.assertTrue(is_admitted)


class TestWaits(unittest.TestCase):
	def connect(self) -> tuple[mock.Mock, socket.socket]:
		"""A connection of the worker, and the client's socket."""
		ours, client = socket.socketpair()
		connection = mock.Mock(sock=TimedSocket(fileno=ours.detach()))
		self.addCleanup(connection.sock.close)
		self.addCleanup(client.close)
		client.settimeout(0)
		return connection, client

	def test_idle_clients_are_disconnected_but_not_those_with_unread_or_unparsed_bytes(self):
		(slow, its_client), (waiting, sender), (parsed, author) = [self.connect() for _ in range(3)]
		sender.sendall(b"GET ")
		slow.sock.is_waiting = waiting.sock.is_waiting = True
		worker = BoundedWorker.__new__(BoundedWorker)
		worker.cfg = mock.Mock(threads=http_worker.SPARE_THREADS)
		worker.busy, worker.receiving = {slow, waiting, parsed}, {slow: 0, waiting: 0, parsed: 0}
		worker.make_room()
		self.assertEqual(its_client.recv(1), b"")
		self.assertRaises(BlockingIOError, sender.recv, 1)
		self.assertRaises(BlockingIOError, author.recv, 1)
		self.assertEqual(waiting.sock.recv(4), b"GET ")

	def test_connections_whose_clients_have_left_do_not_count_towards_the_limit_of_their_address(self):
		(left, its_client), (silent, _client), (newest, _other) = [self.connect() for _ in range(3)]
		worker = BoundedWorker.__new__(BoundedWorker)
		worker.open, worker.pending_conns = {left: "here", silent: "here"}, deque([silent])
		newest.client = ("here", 1)
		with (
			mock.patch.object(http_worker, "MAX_CONNECTIONS_PER_ADDRESS", 2),
			mock.patch.object(worker, "expire") as expire,
		):
			worker.admit(newest)
			expire.assert_called_once_with(silent)
			its_client.close()
			worker.admit(newest)
			expire.assert_called_once()

	def test_a_thread_that_takes_its_bytes_during_the_check_does_not_wait(self):
		(reading, _client), worker = self.connect(), BoundedWorker.__new__(BoundedWorker)
		reading.sock.is_waiting, worker.receiving = True, {reading: 0}

		def take_bytes() -> bool:
			"""As if the thread took them just before the check."""
			reading.sock.is_waiting = False
			return False

		with mock.patch.object(reading.sock, "has_unread_bytes", take_bytes):
			self.assertEqual(worker.list_waiting(), [])

	def test_waited_time_includes_only_waiting_for_the_reader(self):
		ours, reader = socket.socketpair()
		self.addCleanup(reader.close)
		sender = TimedSocket(fileno=ours.detach())
		self.addCleanup(sender.close)
		sender.sendall(b"x" * 100)
		self.assertEqual(sender.waited_s, 0, "the reader has room, however busy this process is")
		data, received = os.urandom(5_000_000), bytearray()

		def read() -> None:
			time.sleep(0.3)
			while len(received) < 100 + len(data):
				received.extend(reader.recv(65_536))

		thread = threading.Thread(target=read)
		thread.start()
		sender.sendall(data)
		thread.join()
		self.assertEqual(received[100:], data)
		self.assertGreaterEqual(sender.waited_s, 0.2)
