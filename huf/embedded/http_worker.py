"""gunicorn's threaded worker, with limits for clients that send or read slowly or open many connections.

A request is read completely before the application sees it. Until then, and while a client does not read its
answer, its connection may be closed: if it is too slow, or if others need its thread, longest waiting first.
A connection that has not sent anything yet occupies no thread, and one whose bytes this process is too busy
to read or to parse stays open.
"""

import errno
import select
import socket
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from gunicorn.util import write_error
from gunicorn.workers.gthread import _DEFER, ThreadWorker

from huf.embedded.thread_pool import ThreadPool

RECEIVE_TIMEOUT_S = SEND_TIMEOUT_S = 15
MIN_BYTES_PER_S = 20_000
"""A client that sends more slowly than this is disconnected."""

FIRST_BYTE_S = 0.1
"""How long a thread waits for the first byte before it leaves a new connection to the poller."""
SPARE_THREADS = 20
"""If fewer threads are free, connections that are still sending are closed, longest waiting first."""
PATIENCE_S = 0.5
"""No connection is closed sooner, because a fast client may have to wait for its thread."""
MAX_CONNECTIONS_PER_ADDRESS = 400
MAX_BODY_BYTES = 32 * 1024 * 1024
BODY_IN_MEMORY_BYTES = 256 * 1024
CHUNK_BYTES = 64 * 1024
LARGE_BODY_BYTES = 1024 * 1024
MAX_LARGE_BYTES = 64 * 1024 * 1024
"""Limit for all large bodies in memory. Others wait on disk, so that strangers cannot exhaust memory."""
MAX_WAIT_S = 15


class TimedSocket(socket.socket):
	"""A connection that is reset when it receives beyond its deadline, or when its answer is not read."""

	deadline: float | None = None
	"""As time.monotonic(); None for no limit."""
	is_waiting = False
	"""Whether a thread waits for bytes of the request."""
	waited_s = 0.0
	"""Seconds for which the response has waited for its reader, before this call of `sendall`."""
	sending_since: float | None = None

	def recv(self, size: int, flags: int = 0) -> bytes:
		if self.deadline is None:
			return super().recv(size, flags)
		self.is_waiting = True
		has_bytes = self.has_unread_bytes(max(self.deadline - time.monotonic(), 0.001))
		# Not later: in a busy process, `recv` itself may take long to return what it has read.
		self.is_waiting = False
		if not has_bytes:
			raise ConnectionResetError(errno.ECONNRESET, "The client sent its request too slowly")
		data = super().recv(size, flags)
		self.deadline += len(data) / MIN_BYTES_PER_S
		return data

	def sendall(self, data: bytes, flags: int = 0) -> None:
		rest = memoryview(data)[self.send_at_once(data, flags) :]
		if not rest:
			return
		self.sending_since = time.monotonic()
		self.settimeout(SEND_TIMEOUT_S + len(rest) / MIN_BYTES_PER_S)
		try:
			super().sendall(rest, flags)
		except TimeoutError:
			raise ConnectionResetError(errno.ECONNRESET, "The client reads its answer too slowly") from None
		finally:
			self.settimeout(None)
			self.waited_s, self.sending_since = self.measure_wait(), None

	def send_at_once(self, data: bytes, flags: int) -> int:
		"""Send as much as possible without waiting for the reader, and return its length.

		The time this takes a busy process does not count against the reader.
		"""
		try:
			return super().send(data, flags | socket.MSG_DONTWAIT)
		except BlockingIOError:
			return 0

	def has_unread_bytes(self, within_s: float = 0) -> bool:
		"""Whether received bytes are waiting to be read. If so, this process is slow and not the client."""
		poll = select.poll()
		try:
			poll.register(self, select.POLLIN)
		except ValueError:
			return False  # its thread has just closed it
		return bool(poll.poll(within_s * 1000))

	def has_left(self) -> bool:
		"""Whether the client has closed the connection, and all its bytes were read."""
		try:
			return super().recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT) == b""
		except OSError as error:
			return not isinstance(error, BlockingIOError)

	def measure_wait(self) -> float:
		"""Seconds for which this response has waited for its reader so far."""
		since = self.sending_since
		return self.waited_s + (time.monotonic() - since if since else 0)


class LargeBodies:
	"""Admits large bodies to memory while there is room."""

	def __init__(self):
		self.free, self.changed = MAX_LARGE_BYTES, threading.Condition()

	@contextmanager
	def admitted(self, size: int) -> Iterator[bool]:
		"""Reserve room for a body during the block. Yields False if there was none within MAX_WAIT_S."""
		wanted = size if size > LARGE_BODY_BYTES else 0
		with self.changed:
			is_admitted = self.changed.wait_for(lambda: self.free >= wanted, MAX_WAIT_S)
			taken = wanted if is_admitted else 0
			self.free -= taken
		try:
			yield is_admitted
		finally:
			with self.changed:
				self.free += taken
				self.changed.notify_all()


def declared_length(request) -> int:
	return max((int(value) for name, value in request.headers if name == "CONTENT-LENGTH"), default=0)


class BoundedWorker(ThreadWorker):
	def __init__(self, *args, **kwargs):
		super().__init__(*args, **kwargs)
		self.large_bodies = LargeBodies()
		self.open: dict[object, str] = {}
		self.busy: set[object] = set()
		self.receiving: dict[object, float] = {}
		"""{connection: when its thread began to read from it}, the longest waiting first."""

	def get_thread_pool(self):
		return ThreadPool(self.cfg.threads)

	def enqueue_req(self, conn):
		"""Handle the beginning of a request, on a new or a kept connection."""
		if not isinstance(conn.sock, TimedSocket):
			conn.sock = TimedSocket(fileno=conn.sock.detach())
		if conn not in self.open:
			self.admit(conn)
		self.busy.add(conn)
		self.make_room()
		super().enqueue_req(conn)

	def admit(self, conn):
		"""Count a new connection. If its address has too many, close the longest silent one."""
		address = str(conn.client[0])
		self.open = {each: place for each, place in self.open.items() if each.sock.fileno() != -1}
		self.open[conn] = address
		if self.has_too_many(address):
			silent = next((each for each in self.pending_conns if self.open[each] == address), None)
			if silent:
				self.expire(silent)
			else:
				waiting = [*self.list_silent(conn), *self.list_waiting()]
				self.cut(next((each for each in waiting if self.open.get(each) == address), conn))

	def has_too_many(self, address: str) -> bool:
		"""Whether too many clients at an address are connected. Those who have left do not count: in a busy
		process their connections stay open until a thread reads their end.
		"""
		connected = [conn for conn, place in self.open.items() if place == address]
		if len(connected) <= MAX_CONNECTIONS_PER_ADDRESS:
			return False
		return sum(not conn.sock.has_left() for conn in connected) > MAX_CONNECTIONS_PER_ADDRESS

	def list_silent(self, newest) -> list:
		"""Connections whose threads wait for a first byte, the longest waiting first."""
		return [
			each
			for each in self.open
			if not each.sock.has_unread_bytes()  # first, see list_waiting
			and each in self.busy
			and each is not newest
			and not each.initialized
			and each not in self.receiving
		]

	def list_waiting(self) -> list:
		"""Connections whose threads wait for more of a request, the longest waiting first.

		A thread stops waiting before it takes the bytes. So it is asked after the bytes: in the other order,
		one that takes them in between would seem to wait.
		"""
		return [
			each for each in list(self.receiving) if not each.sock.has_unread_bytes() and each.sock.is_waiting
		]

	def on_pending_socket_readable(self, conn, client):
		# Since the poller found it readable, `expire` may have closed it, which would end this process.
		if client.fileno() != -1:
			super().on_pending_socket_readable(conn, client)

	def expire(self, silent):
		"""Close a connection that has not sent anything yet."""
		self.pending_conns.remove(silent)
		self.pending_conns.appendleft(silent)
		silent.timeout = 0
		self.murder_pending()

	def murder_keepalived(self, *arguments, **options):
		"""gunicorn calls this about once a second."""
		super().murder_keepalived(*arguments, **options)
		self.make_room()

	def make_room(self):
		too_many = len(self.busy) - (self.cfg.threads - SPARE_THREADS)
		if too_many <= 0:
			return
		latest = time.monotonic() - PATIENCE_S
		unread = [(conn.sock.measure_wait(), conn) for conn in list(self.busy) if conn.sock.sending_since]
		unread.sort(key=lambda pair: pair[0], reverse=True)
		slow = [conn for waited, conn in unread if waited > PATIENCE_S]
		slow += [conn for conn in self.list_waiting() if self.receiving.get(conn, latest) < latest]
		for conn in slow[:too_many]:
			self.cut(conn)

	def cut(self, conn):
		"""Close a connection, which ends the wait of its thread."""
		self.receiving.pop(conn, None)
		try:
			conn.sock.shutdown(socket.SHUT_RDWR)
		except OSError:
			pass  # it is closed already

	def handle(self, conn):
		try:
			if not conn.initialized and not conn.wait_for_data(FIRST_BYTE_S):
				return _DEFER
			# Start the clock here: waiting for a thread does not make a client slow.
			now = self.receiving[conn] = time.monotonic()
			conn.sock.deadline, conn.sock.waited_s = now + RECEIVE_TIMEOUT_S, 0
			return super().handle(conn)
		finally:
			self.receiving.pop(conn, None)
			self.busy.discard(conn)

	def handle_request(self, req, conn):
		sent = req.body
		with tempfile.SpooledTemporaryFile(BODY_IN_MEMORY_BYTES) as body:
			while body.tell() <= MAX_BODY_BYTES and (data := sent.read(CHUNK_BYTES)):
				body.write(data)
			if (size := body.tell()) > MAX_BODY_BYTES:
				req.force_close()
			elif size < declared_length(req):
				raise ConnectionResetError(errno.ECONNRESET, "The client left before the end of its request")
			body.seek(0)
			conn.sock.deadline = None
			self.receiving.pop(conn, None)
			req.body = body
			try:
				with self.large_bodies.admitted(size) as is_admitted:
					if is_admitted:
						return super().handle_request(req, conn)
				write_error(
					conn.sock, 503, "Service Unavailable", "Too many large requests. Try again later."
				)
				return False
			finally:
				req.body = sent  # gunicorn reads the end of the request from it
