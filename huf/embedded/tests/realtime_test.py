"""Realtime events reach only the rooms that they are for, over a real Socket.IO connection."""

import io
import json
import threading
from contextlib import redirect_stderr
from unittest.mock import patch

import frappe
import frappe.app
import requests
import socketio
from frappe.realtime import may_subscribe, publish_realtime
from frappe.utils import jobs_db
from werkzeug.serving import make_server

from huf.embedded import realtime_server
from huf.embedded.realtime_server import MAX_ROOM_CHARS, RealtimeServer
from huf.embedded.site import SITE
from huf.embedded.tests.http_test import cookie
from huf.embedded.tests.sites import Browser, SiteTestCase

NAMESPACE = f"/{SITE}"
WAIT_S = 30


class TestRealtime(SiteTestCase):
	def setUp(self):
		super().setUp()
		realtime = RealtimeServer(SITE, self.sites_path)
		self.http = make_server("127.0.0.1", 0, realtime.wrap(frappe.app.application), threaded=True)
		self.url = f"http://127.0.0.1:{self.http.server_port}"
		self.thread = threading.Thread(target=self.http.serve_forever, daemon=True)
		self.thread.start()
		realtime.start()
		self.realtime = realtime
		self.addCleanup(self.http.shutdown)
		self.addCleanup(realtime.stop)

	def connect(self, sid):
		client = socketio.SimpleClient()
		client.connect(
			self.url, namespace=NAMESPACE, headers={"Cookie": f"sid={sid}"}, transports=["polling"]
		)
		self.addCleanup(client.disconnect)
		return client

	def connect_as(self, user):
		browser = Browser()
		self.assertEqual(browser.login(user).status_code, 200)
		return self.connect(cookie(browser, "sid"))

	def subscribe(self, client, *event):
		"""Events of a connection are handled in order: after the pong, the subscription is done."""
		client.emit(event[0], event[1:])
		client.emit("ping")
		self.assertEqual(client.receive(WAIT_S), ["pong"])

	def test_a_wrong_cookie_is_refused(self):
		for sid in ("wrong", ""):
			with self.assertRaises(socketio.exceptions.ConnectionError):
				self.connect(sid)

	def test_an_event_reaches_its_user_and_nobody_else(self):
		mine = self.connect_as("Administrator")
		other = self.connect_as(self.make_user("other@example.com"))
		publish_realtime("for_admin", {"n": 1}, user="Administrator")
		publish_realtime("for_other", {"n": 2}, user="other@example.com")
		self.assertEqual(mine.receive(WAIT_S), ["for_admin", {"n": 1}])
		self.assertEqual(other.receive(WAIT_S), ["for_other", {"n": 2}])

	def test_document_event_reaches_only_users_with_read_permission(self):
		note = frappe.get_doc({"doctype": "Note", "title": "heard"}).insert()
		frappe.db.commit()
		reader = self.connect_as("Administrator")
		stranger = self.connect_as(self.make_user("stranger@example.com"))
		for client in (reader, stranger):
			self.subscribe(client, "doc_subscribe", "Note", note.name)
		publish_realtime("changed", {"n": 1}, doctype="Note", docname=note.name)
		publish_realtime("last", user="stranger@example.com")
		self.assertEqual(reader.receive(WAIT_S), ["changed", {"n": 1}])
		self.assertEqual(stranger.receive(WAIT_S)[0], "last")

	def test_subscription_refuses_filters_as_document_names(self):
		error = frappe.get_doc({"doctype": "Error Log", "method": "x", "error": "hunter2"}).insert()
		frappe.db.commit()
		frappe.set_user(self.make_user("guessing@example.com"))
		for name in ({"error": "hunter2"}, [["error", "=", "hunter2"]], [error.name]):
			self.assertFalse(may_subscribe("Error Log", name))

	def test_a_connection_joins_a_limited_number_of_rooms_with_short_names(self):
		client, long = self.connect_as("Administrator"), "x" * MAX_ROOM_CHARS
		with patch("huf.embedded.realtime_server.MAX_ROOMS", 7):
			for task in (long, *(f"task {number}" for number in range(8))):
				self.subscribe(client, "task_subscribe", task)
			self.subscribe(client, "task_unsubscribe", "task 1")
			self.subscribe(client, "task_subscribe", "task 8")
		[connection] = self.realtime.connections.values()
		rooms = connection.rooms
		for task in ("task 0", "task 8"):
			self.assertIn(f"task_progress:{task}", rooms)
		for task in (long, "task 7", "task 1"):
			self.assertNotIn(f"task_progress:{task}", rooms)

	def test_events_stop_when_the_session_or_the_permission_ends(self):
		note = frappe.get_doc({"doctype": "Note", "title": "heard"}).insert()
		user = self.make_user("leaving@example.com", "System Manager")
		share = {
			"doctype": "DocShare",
			"share_doctype": "Note",
			"share_name": note.name,
			"user": user,
			"read": 1,
		}
		share = frappe.get_doc(share).insert()
		frappe.db.commit()
		browser = Browser()
		browser.login(user)
		client, watcher = self.connect(cookie(browser, "sid")), self.connect_as("Administrator")
		for each in (client, watcher):
			self.subscribe(each, "doc_subscribe", "Note", note.name)
		with patch("huf.embedded.realtime_server.CHECK_SECONDS", 0):
			publish_realtime("first", doctype="Note", docname=note.name)
			self.assertEqual(client.receive(WAIT_S), ["first", {}])
			share.delete()
			frappe.db.delete("Has Role", {"parent": user})
			frappe.db.set_value("User", user, "user_type", "Website User")
			frappe.db.commit()
			publish_realtime("second", doctype="Note", docname=note.name)
			publish_realtime("for the Desk")
			publish_realtime("third", user=user)
			self.assertEqual(client.receive(WAIT_S), ["third", {}])
			browser.post("/api/method/logout")
			publish_realtime("fourth", user=user)
			publish_realtime("website", room="website")
			with self.assertRaises(socketio.exceptions.SocketIOError):
				client.receive(3)
		received = [watcher.receive(WAIT_S)[0] for _ in range(4)]
		self.assertEqual(received, ["first", "second", "for the Desk", "website"])
		self.assertEqual(len(self.realtime.connections), 1)

	def test_malformed_events_print_nothing_and_collect_nothing(self):
		output = io.StringIO()
		with redirect_stderr(output):
			for data in (
				'["doc_subscribe"]',
				'["doc_subscribe", [], {}]',
				'["doc_subscribe", "\\ud800", "x"]',
				'["task_unsubscribe"]',
				'["_subscribe"]',
				'["ping", 1]',
				'["disconnect"]',
				'["connect", {"HTTP_COOKIE": 1}]',
				"[{}]",
				"[]",
				"{}",
				"",
				"[" * 100_000,
			):
				with self.subTest(data[:40]):
					self.send_raw(f"42{NAMESPACE},{data}")
			self.send_raw("garbage")
			self.send_raw(f"459999999999-{NAMESPACE},[]", "bAAAA")
		self.assertNotIn("Traceback", output.getvalue())
		self.assertEqual(self.realtime.server._binary_packet, {})

	def test_an_error_in_an_event_is_printed_and_the_connection_goes_on(self):
		output = io.StringIO()
		client = self.connect_as("Administrator")
		fault = OSError("The disk is full")
		with redirect_stderr(output), patch.object(realtime_server, "may_subscribe", side_effect=fault):
			self.subscribe(client, "doctype_subscribe", "ToDo")
		self.assertIn("The disk is full", output.getvalue())

	def send_raw(self, *packets):
		browser = Browser()
		browser.login()
		headers = {"Cookie": f"sid={cookie(browser, 'sid')}"}
		url = f"{self.url}/socket.io/?EIO=4&transport=polling"
		opened = json.loads(requests.get(url, headers=headers, timeout=WAIT_S).text[1:])
		url += f"&sid={opened['sid']}"
		requests.post(url, f"40{NAMESPACE},", headers=headers, timeout=WAIT_S)
		requests.get(url, headers=headers, timeout=WAIT_S)
		for each in packets:
			requests.post(url, each, headers=headers, timeout=WAIT_S)

	def test_after_commit_events_are_sent_once_and_dropped_on_rollback(self):
		client = self.connect_as("Administrator")
		for _ in range(2):
			publish_realtime("lost", user="Administrator", after_commit=True)
		frappe.db.rollback()
		for _ in range(2):
			publish_realtime("kept", user="Administrator", after_commit=True)
		frappe.db.commit()
		publish_realtime("end", user="Administrator")
		self.assertEqual([client.receive(WAIT_S)[0], client.receive(WAIT_S)[0]], ["kept", "end"])

	def test_event_from_another_process_arrives(self):
		client = self.connect_as("Administrator")
		query = "INSERT INTO outbox (event, message, room) VALUES ('far', '{\"n\": 1}', 'user:Administrator')"
		jobs_db.connect().execute(query)
		self.assertEqual(client.receive(WAIT_S), ["far", {"n": 1}])
