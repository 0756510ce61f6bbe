"""The Socket.IO server of an embedded site.

The protocol is that of Frappe's own server: namespace `/<site>`, cookie `sid` at connect, rooms
`user:<user>`, `doctype:<doctype>`, `doc:<doctype>/<name>`, `task_progress:<id>`, `website`, and `all` for
users of the desk.
"""

import json
import os
import threading
import traceback
from collections import Counter
from collections.abc import Callable
from urllib.parse import parse_qs

import frappe
import socketio
from frappe.realtime import emitters, may_subscribe
from frappe.sessions import find_session
from frappe.site_local import opened
from frappe.utils import jobs_db
from werkzeug.wrappers import Request, Response

POLL_SECONDS = 0.2
MAX_REQUESTS_PER_USER = 40
"""Each open page holds one; all users share the limit of streams."""
MAX_ROOMS, MAX_ROOM_CHARS = 500, 300
"""Limits for one connection. A document's name has at most 140 characters."""


class RealtimeServer:
	"""The Socket.IO server of one site. `wrap(application)` answers /socket.io and passes on everything
	else.
	"""

	def __init__(self, site: str, sites_path: str = "."):
		self.site, self.sites_path, self.namespace = site, sites_path, f"/{site}"
		self.jobs_file = os.path.join(sites_path, site, "jobs.db")
		self.users: dict[str, str] = {}
		self.rooms: dict[str, set[str]] = {}
		"""{connection: rooms that it asked for}; the library's list fails while other threads change it."""
		self.open: Counter[str] = Counter()
		"""{user: requests that are being answered}"""
		self.stopping, self.lock = threading.Event(), threading.Lock()
		self.server = socketio.Server(async_mode="threading", async_handlers=False)
		handlers = {
			"connect": self.on_connect,
			"disconnect": self.on_disconnect,
			"ping": lambda sid: self.server.emit("pong", room=sid, namespace=self.namespace),
			"doctype_subscribe": lambda sid, doctype: self._join(sid, f"doctype:{doctype}", doctype),
			"doc_subscribe": lambda sid, doctype, name: self._join(
				sid, f"doc:{doctype}/{name}", doctype, name
			),
			"task_subscribe": lambda sid, task: self._join(sid, f"task_progress:{task}"),
			"doctype_unsubscribe": lambda sid, doctype: self._leave(sid, f"doctype:{doctype}"),
			"doc_unsubscribe": lambda sid, doctype, name: self._leave(sid, f"doc:{doctype}/{name}"),
			"task_unsubscribe": lambda sid, task: self._leave(sid, f"task_progress:{task}"),
		}
		for event, handler in handlers.items():
			self.server.on(event, handler, namespace=self.namespace)

	def wrap(self, application):
		realtime = socketio.WSGIApp(self.server, application)

		def answer(environ: dict, start_response: Callable):
			if not environ["PATH_INFO"].startswith("/socket.io"):
				return application(environ, start_response)
			# Only the first request of a connection is certain to have the cookie.
			connection = parse_qs(environ["QUERY_STRING"]).get("sid", [""])[0]
			user = self.find_user(self.server.environ.get(connection, environ))[0]
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

	def find_user(self, environ: dict) -> tuple[str | None, str | None]:
		sid = Request(environ, populate_request=False).cookies.get("sid")
		return self._as(None, lambda: _user_of(sid))

	def start(self) -> "RealtimeServer":
		"""Start sending. Events that other processes left for an earlier server are dropped."""
		jobs_db.connect(self.jobs_file).execute("DELETE FROM outbox")
		emitters[self.site] = self.emit
		threading.Thread(target=self._carry_outbox, daemon=True).start()
		return self

	def stop(self):
		emitters.pop(self.site, None)
		self.stopping.set()

	def emit(self, event: str, message: str, room: str):
		self.server.emit(event, json.loads(message), room=room, namespace=self.namespace)

	def on_connect(self, sid: str, environ: dict, auth=None):
		user, user_type = self.find_user(environ)
		if not user:
			raise socketio.exceptions.ConnectionRefusedError("Unauthorized")
		self.users[sid], self.rooms[sid] = user, set()
		for room in (f"user:{user}", "website", *(["all"] if user_type == "System User" else [])):
			self.server.enter_room(sid, room, namespace=self.namespace)

	def on_disconnect(self, sid: str, reason=None):
		self.users.pop(sid, None)
		self.rooms.pop(sid, None)

	def _join(self, sid: str, room: str, doctype: str | None = None, name: str | None = None):
		rooms = self.rooms[sid]
		if len(rooms) >= MAX_ROOMS or len(room) > MAX_ROOM_CHARS:
			return  # names of rooms stay in memory while the page is open
		if not doctype or self._as(self.users[sid], lambda: may_subscribe(doctype, name)):
			self.server.enter_room(sid, room, namespace=self.namespace)
			rooms.add(room)

	def _leave(self, sid: str, room: str):
		self.rooms[sid].discard(room)
		self.server.leave_room(sid, room, namespace=self.namespace)

	def _as(self, user: str | None, call: Callable):
		"""Run `call` in a separate context of the site."""
		with opened(self.site, self.sites_path):
			if user:
				frappe.set_user(user)
			return call()

	def _carry_outbox(self):
		db = jobs_db.connect(self.jobs_file)
		while not self.stopping.wait(POLL_SECONDS):
			try:
				rows = []
				if db.execute("SELECT 1 FROM outbox LIMIT 1"):
					rows = db.execute("DELETE FROM outbox RETURNING id, event, message, room")
				for row in sorted(rows, key=lambda row: row["id"]):
					self.emit(row["event"], row["message"], row["room"])
			except Exception:  # the thread's outermost function: a full disk, say, must not end the sending
				traceback.print_exc()


def _user_of(sid: str | None) -> tuple[str | None, str | None]:
	"""(user, user type) of a session cookie; (None, None) if there is no such session."""
	session = find_session(sid) if sid else None
	return (session.user, session.data.user_type) if session else (None, None)
