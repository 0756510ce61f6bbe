"""gunicorn's threaded worker, with limits for clients that send slowly or open many connections.

A request is read whole before the application sees it.  Until then its connection may be closed: when it is
too slow, or when others need its thread, the longest waiting first.
"""

import errno
import socket
import tempfile
import time

from gunicorn.workers.gthread import ThreadWorker

RECEIVE_TIMEOUT_S = 15
MIN_BYTES_PER_S = 20_000
"""This many received bytes buy a slow client another second."""

MAX_RECEIVING, MAX_RECEIVING_PER_ADDRESS = 100, 50
MAX_CONNECTIONS_PER_ADDRESS = 400
MAX_BODY_BYTES = 32 * 1024 * 1024
BODY_IN_MEMORY_BYTES = 256 * 1024
CHUNK_BYTES = 64 * 1024


class TimedSocket(socket.socket):
	"""A connection that is reset when its deadline passes while it receives."""

	deadline: float | None = None
	"""Of time.monotonic(); None for no limit."""

	def recv(self, size: int, flags: int = 0) -> bytes:
		if self.deadline is None:
			return super().recv(size, flags)
		self.settimeout(max(self.deadline - time.monotonic(), 0.001))
		try:
			data = super().recv(size, flags)
		except TimeoutError:
			raise ConnectionResetError(errno.ECONNRESET, "The client sent its request too slowly") from None
		finally:
			self.settimeout(None)
		self.deadline += len(data) / MIN_BYTES_PER_S
		return data


class BoundedWorker(ThreadWorker):
	def __init__(self, *args, **kwargs):
		super().__init__(*args, **kwargs)
		self.open: dict[object, str] = {}
		self.receiving: dict[object, str] = {}
		"""{connection: address}, the longest waiting first."""

	def enqueue_req(self, conn):
		"""A request begins: a new connection, or a kept one from which something can be read."""
		address = str(conn.client[0])
		if not isinstance(conn.sock, TimedSocket):
			conn.sock = TimedSocket(fileno=conn.sock.detach())
		conn.sock.deadline = time.monotonic() + RECEIVE_TIMEOUT_S
		self.open = {each: place for each, place in self.open.items() if each.sock.fileno() != -1}
		self.open[conn] = address
		self.receiving[conn] = address
		if list(self.open.values()).count(address) > MAX_CONNECTIONS_PER_ADDRESS:
			self.cut(conn)
		self.make_room(address)
		super().enqueue_req(conn)

	def make_room(self, address: str):
		receiving = list(self.receiving.items())
		same = [conn for conn, place in receiving if place == address]
		if len(same) > MAX_RECEIVING_PER_ADDRESS:
			self.cut(same[0])
		elif len(receiving) > MAX_RECEIVING:
			self.cut(receiving[0][0])

	def cut(self, conn):
		"""A thread that waits for this connection finds it closed."""
		self.receiving.pop(conn, None)
		try:
			conn.sock.shutdown(socket.SHUT_RDWR)
		except OSError:
			pass  # it is closed already

	def handle(self, conn):
		try:
			return super().handle(conn)
		finally:
			self.receiving.pop(conn, None)

	def handle_request(self, req, conn):
		sent = req.body
		with tempfile.SpooledTemporaryFile(BODY_IN_MEMORY_BYTES) as body:
			while body.tell() <= MAX_BODY_BYTES and (data := sent.read(CHUNK_BYTES)):
				body.write(data)
			if body.tell() > MAX_BODY_BYTES:
				req.force_close()
			body.seek(0)
			conn.sock.deadline = None
			self.receiving.pop(conn, None)
			req.body = body
			try:
				return super().handle_request(req, conn)
			finally:
				req.body = sent  # gunicorn looks there for the end of the request
