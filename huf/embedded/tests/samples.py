"""Functions that the tests call as jobs and over HTTP."""

import sys
import time
from functools import wraps

import frappe
from werkzeug.wrappers import Response

SEEN = []
"""Recorded by the jobs of this process."""


def served(function):
	"""Whitelist a function for sites with `allow_tests` only: it checks no permission."""

	@frappe.whitelist()
	@wraps(function)
	def call(*args, **kwargs):
		if not frappe.conf.allow_tests:
			raise frappe.PermissionError
		return function(*args, **kwargs)

	return call


@served
def csrf_token():
	from frappe.sessions import get_csrf_token

	return get_csrf_token()


@served
def wait(seconds: float):
	"""Block a thread of the server."""
	time.sleep(seconds)


@served
def stream():
	"""Three server-sent events; the last one reads the database during the response."""

	def events():
		yield "data: one\n\n"
		yield "data: two\n\n"
		yield f"data: {frappe.session.user} {frappe.db.get_value('User', frappe.session.user, 'name')}\n\n"

	return Response(events(), mimetype="text/event-stream")


@served
def add(a: int, b: int = 1, flag: bool = False):
	return {"sum": a + b, "flag": flag}


@served
def fail():
	raise RuntimeError("this fails")


def see(**kwargs):
	SEEN.append({"user": frappe.session.user, "notes": frappe.db.count("Note"), **kwargs})


def write_note_and_fail(title):
	frappe.get_doc({"doctype": "Note", "title": title}).insert(ignore_permissions=True)
	raise ValueError("this job fails")


def write_note(title):
	frappe.get_doc({"doctype": "Note", "title": title}).insert(ignore_permissions=True)


def ring(event_name):
	EVENTS[event_name].set()


EVENTS = {}
"""threading.Event objects a test waits for."""


def never_end():
	while True:
		time.sleep(0.001)


def publish(event, **options):
	frappe.publish_realtime(event, {"from": "another process"}, **options)
	sys.stdout.write("published\n")


@served
def add_messages(conversation, count):
	from huf.ai.storage.conversations import ConversationManager, build_message_row

	agent = frappe.db.get_value("Agent Conversation", conversation, "agent")
	manager = ConversationManager(agent)
	manager.conversation = conversation
	manager.add_messages([build_message_row("user", f"Message {number}.") for number in range(int(count))])


@served
def take_mail(mailbox, subject):
	"""Put a mail into a mailbox without a mail server."""
	from huf.ai.mail.intake import ingest_raw
	from huf.tests.mail import make_mail

	return ingest_raw(mailbox, make_mail(subject=subject))[0]


def nap(seconds: float):
	time.sleep(seconds)
	SEEN.append(frappe.session.user)
