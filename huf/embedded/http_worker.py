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

SPARE_THREADS = 20
"""Where fewer are free, those who are still sending lose their places, the longest waiting first."""
PATIENCE_S = 0.5
"""Nobody loses it sooner: a quick client may have to wait for its thread."""
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
		self.busy: set[object] = set()
		self.receiving: dict[object, float] = {}
		"""{connection: when it began}, the longest waiting first."""

	def enqueue_req(self, conn):
		"""A request begins: a new connection, or a kept one from which something can be read."""
		address = str(conn.client[0])
		if not isinstance(conn.sock, TimedSocket):
			conn.sock = TimedSocket(fileno=conn.sock.detach())
		now = time.monotonic()
		conn.sock.deadline = now + RECEIVE_TIMEOUT_S
		self.open = {each: place for each, place in self.open.items() if each.sock.fileno() != -1}
		self.open[conn] = address
		self.busy.add(conn)
		self.receiving[conn] = now
		if list(self.open.values()).count(address) > MAX_CONNECTIONS_PER_ADDRESS:
			self.cut(next(each for each in list(self.receiving) if self.open.get(each) == address))
		self.make_room()
		super().enqueue_req(conn)

	def murder_keepalived(self, *arguments, **options):
		"""gunicorn calls this about once a second."""
		super().murder_keepalived(*arguments, **options)
		self.make_room()

	def make_room(self):
		too_many = len(self.busy) - (self.cfg.threads - SPARE_THREADS)
		latest = time.monotonic() - PATIENCE_S
		for conn, began in list(self.receiving.items())[: max(too_many, 0)]:
			if began < latest:
				self.cut(conn)

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
			self.busy.discard(conn)

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
