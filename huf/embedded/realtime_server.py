"""The Socket.IO server of an embedded site.

The protocol is that of Frappe's own server: namespace `/<site>`, cookie `sid` at connect, rooms
`user:<user>`, `doctype:<doctype>`, `doc:<doctype>/<name>`, `task_progress:<id>`, `website`, and `all` for
users of the desk.
"""

import json
import logging
import os
import queue
import threading
import time
import traceback
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs

import frappe
import socketio
from frappe.realtime import emitters, may_subscribe
from frappe.sessions import find_session
from frappe.site_local import opened
from frappe.utils import jobs_db
from socketio import packet
from werkzeug.wrappers import Request, Response

POLL_SECONDS = 0.2
CHECK_SECONDS = 1
"""How long a connection's right to a room counts after it was checked."""
MAX_REQUESTS_PER_USER = 40
"""Each open page holds one; all users share the limit of streams."""
MAX_ROOMS, MAX_ROOM_CHARS = 500, 300
"""Limits for one connection. A document's name has at most 140 characters."""
ROOMS = {"doctype": "doctype:{}", "doc": "doc:{}/{}", "task": "task_progress:{}"}
PACKET_LOGGER = logging.getLogger("huf.realtime_packets")
PACKET_LOGGER.setLevel(logging.CRITICAL)
"""The libraries log a traceback for each malformed packet of a client."""


class TextPacket(packet.Packet):
	"""No client sends binary data, whose parts the library would collect without a limit."""

	def decode(self, encoded_packet: str) -> int:
		count = super().decode(encoded_packet)
		if self.packet_type in (packet.BINARY_EVENT, packet.BINARY_ACK):
			raise ValueError("Binary packets are not accepted.")
		return count


@dataclass
class Connection:
	"""An open page. `rooms`: {room: (kind, names) that are checked again before an event is sent}."""

	session: str
	user: str
	rooms: dict[str, tuple[str, tuple[str, ...]]]
	checked: dict[str, float] = field(default_factory=dict)


class Events(socketio.Namespace):
	"""Passes a client's events on, whatever their names and arguments are."""

	def __init__(self, namespace: str, handle: Callable):
		super().__init__(namespace)
		self.handle = handle

	def trigger_event(self, event: Any, *args: Any) -> None:
		self.handle(event, *args)


class RealtimeServer:
	"""The Socket.IO server of one site. `wrap(application)` answers /socket.io and passes on everything
	else.
	"""

	def __init__(self, site: str, sites_path: str = "."):
		self.site, self.sites_path, self.namespace = site, sites_path, f"/{site}"
		self.jobs_file = os.path.join(sites_path, site, "jobs.db")
		self.connections: dict[str, Connection] = {}
		self.events: queue.SimpleQueue[tuple[str, str, str]] = queue.SimpleQueue()
		self.open: Counter[str] = Counter()
		"""{user: requests that are being answered}"""
		self.stopping, self.lock = threading.Event(), threading.Lock()
		self.server = socketio.Server(
			async_mode="threading",
			async_handlers=False,
			serializer=TextPacket,
			engineio_logger=PACKET_LOGGER,
		)
		self.server.register_namespace(Events(self.namespace, self.on_event))

	def wrap(self, application):
		realtime = socketio.WSGIApp(self.server, application)

		def answer(environ: dict, start_response: Callable):
			if not environ["PATH_INFO"].startswith("/socket.io"):
				return application(environ, start_response)
			# Only the first request of a connection is certain to have the cookie.
			connection = parse_qs(environ["QUERY_STRING"]).get("sid", [""])[0]
			user = self.find_user(read_cookie(self.server.environ.get(connection, environ)))[0]
			if user in (None, "Guest"):
				return Response("Sign in first.\n", 403)(environ, start_response)
			with self.lock:
				self.open[user] += 1
			try:
				if self.open[user] > MAX_REQUESTS_PER_USER:
					return Response("Close other pages first.\n", 429)(environ, start_response)
				return realtime(environ, start_response)
			finally:
				with self.lock:
					self.open[user] -= 1

		return answer

	def find_user(self, session: str) -> tuple[str | None, str | None]:
		with opened(self.site, self.sites_path):
			return user_of(session)

	def start(self) -> "RealtimeServer":
		"""Start sending. Events that other processes left for an earlier server are dropped."""
		jobs_db.connect(self.jobs_file).execute("DELETE FROM outbox")
		emitters[self.site] = self.emit
		threading.Thread(target=self._carry_events, daemon=True).start()
		return self

	def stop(self):
		emitters.pop(self.site, None)
		self.stopping.set()

	def emit(self, event: str, message: str, room: str):
		"""Send soon, in the server's own thread, which checks who may still receive it."""
		self.events.put((event, message, room))

	def on_event(self, event: Any, sid: str, *arguments: Any):
		"""Handle an event of the library or of a client; a malformed one does nothing."""
		if event == "connect":
			return self.on_connect(sid)
		if event == "disconnect":
			self.connections.pop(sid, None)
		elif event == "ping":
			self.server.emit("pong", to=sid, namespace=self.namespace)
		elif isinstance(event, str) and all(map(is_name, arguments)):
			kind, _, action = event.rpartition("_")
			if kind not in ROOMS or len(arguments) != ROOMS[kind].count("{}"):
				return
			try:
				self._subscribe(sid, kind, arguments, action)
			except Exception:  # the event's outermost function
				traceback.print_exc()

	def on_connect(self, sid: str):
		session = read_cookie(self.server.get_environ(sid, self.namespace))
		user, user_type = self.find_user(session)
		if not user:
			raise socketio.exceptions.ConnectionRefusedError("Unauthorized")
		rooms = {f"user:{user}": ("user", ()), "website": ("website", ())}
		if user_type == "System User":
			rooms["all"] = "all", ()
		self.connections[sid] = Connection(session, user, rooms)

	def _subscribe(self, sid: str, kind: str, names: tuple[str, ...], action: str):
		room, connection = ROOMS[kind].format(*names), self.connections.get(sid)
		if not connection:
			return
		if action == "unsubscribe":
			connection.rooms.pop(room, None)
		# Names of rooms stay in memory while the page is open.
		elif action == "subscribe" and len(connection.rooms) < MAX_ROOMS and len(room) <= MAX_ROOM_CHARS:
			if self.check_room(connection, kind, names):
				connection.rooms[room] = kind, names

	def check_room(self, connection: Connection, kind: str, names: tuple[str, ...]) -> bool | None:
		"""Whether the user may receive events of the room; None if the session is over."""
		with opened(self.site, self.sites_path):
			user, user_type = user_of(connection.session)
			if user != connection.user:
				return None
			if kind == "all":
				return user_type == "System User"
			frappe.set_user(user)
			return kind not in ("doctype", "doc") or may_subscribe(*names)

	def _carry_events(self):
		db = jobs_db.connect(self.jobs_file)
		while not self.stopping.is_set():
			try:
				with suppress(queue.Empty):
					self._send(*self.events.get(timeout=POLL_SECONDS))
				rows = []
				if db.execute("SELECT 1 FROM outbox LIMIT 1"):
					rows = db.execute("DELETE FROM outbox RETURNING id, event, message, room")
				for row in sorted(rows, key=lambda row: row["id"]):
					self._send(row["event"], row["message"], row["room"])
			except Exception:  # the thread's outermost function: a full disk, say, must not end the sending
				traceback.print_exc()

	def _send(self, event: str, message: str, room: str):
		for sid, connection in list(self.connections.items()):
			if room in connection.rooms and self._may_receive(sid, connection, room):
				self.server.emit(event, json.loads(message), to=sid, namespace=self.namespace)

	def _may_receive(self, sid: str, connection: Connection, room: str) -> bool:
		"""Leave rooms whose permission is gone; end a connection whose session is over."""
		now = time.monotonic()
		if now < connection.checked.get(room, -CHECK_SECONDS) + CHECK_SECONDS:
			return True
		may_receive = self.check_room(connection, *connection.rooms[room])
		if may_receive:
			connection.checked[room] = now
		elif may_receive is None:
			self.connections.pop(sid, None)
			self.server.disconnect(sid, namespace=self.namespace)
		else:
			connection.rooms.pop(room, None)
		return bool(may_receive)


def is_name(value: Any) -> bool:
	"""Whether it is text that a database can look up: not empty, and without half a surrogate pair."""
	return isinstance(value, str) and value.encode(errors="ignore").decode() == value != ""


def read_cookie(environ: dict) -> str:
	return Request(environ, populate_request=False).cookies.get("sid", "")


def user_of(session: str) -> tuple[str | None, str | None]:
	"""(user, user type) of a session's ID; (None, None) if there is no such session."""
	found = find_session(session) if session else None
	return (found.user, frappe.db.get_value("User", found.user, "user_type")) if found else (None, None)
