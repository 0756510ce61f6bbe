"""A run of 12 steps has the same effects wherever its worker is killed: documents, mail, external calls."""

import os
import threading
import unittest
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import frappe

from huf.ai.core.types import AgentRequest, RunStatus
from huf.ai.runs.start import start_run
from huf.tests.base import SiteTestCase
from huf.tests.crash.killer import run_worker
from huf.tests.factories import make_agent, make_model, make_tool
from huf.tests.model_server import ModelServer, text, tool_call

LATER = 3600
"""Seconds after which every lease has expired."""


class Shop(BaseHTTPRequestHandler):
	"""An external service that counts the orders it receives by their idempotency key."""

	def do_POST(self):
		self.rfile.read(int(self.headers["Content-Length"]))
		self.server.keys[self.headers["Idempotency-Key"]] += 1
		body = b'{"ordered": true}'
		self.send_response(200)
		self.send_header("Content-Type", "application/json")
		self.send_header("Content-Length", str(len(body)))
		self.end_headers()
		self.wfile.write(body)

	def log_message(self, *args):
		pass


@unittest.skipUnless(hasattr(os, "fork"), "workers are forked")
class TestCrash(SiteTestCase):
	def setUp(self):
		super().setUp()
		self.shop = ThreadingHTTPServer(("127.0.0.1", 0), Shop)
		self.shop.keys = Counter()
		threading.Thread(target=self.shop.serve_forever, args=(0.02,), daemon=True).start()
		self.addCleanup(self.shop.server_close)
		self.addCleanup(self.shop.shutdown)
		set_up_mail()

	def test_a_run_killed_before_any_commit_ends_like_an_undisturbed_run(self):
		self.assert_survives("before")

	def test_a_run_killed_after_any_commit_ends_like_an_undisturbed_run(self):
		self.assert_survives("after")

	def assert_survives(self, when):
		with ModelServer(strict=False) as server:
			self.agent = self.make_agent(server)
			# The first run may find work that other tests have left.
			self.run_and_kill(0, when)
			undisturbed = self.run_and_kill(0, when)
			commits = undisturbed["commits"]
			for number in range(1, commits + 1):
				with self.subTest(f"{when} commit {number} of {commits}"):
					crashed = self.run_and_kill(number, when)
					self.assertTrue(crashed["killed"])
					self.assertEqual(crashed["status"], "Success")
					self.assertEqual(crashed["written"], undisturbed["written"])
					self.assertLessEqual(max(crashed["keys"].values(), default=0), 1)
					# Each order was sent once, or its call is recorded as Unknown.
					self.assertGreaterEqual(sum(crashed["keys"].values()), 2 - crashed["unknown"])
		print(f"\n{commits} kill points tested: {when} each commit of a run of 12 steps")

	def run_and_kill(self, kill_at: int, when: str) -> dict:
		"""Kill the worker of a run at a commit and resume it an hour later; returns the run's effects."""
		self.shop.keys.clear()
		session = frappe.generate_hash(length=8)
		# The order's answer is untrusted: after it, only a mail that the prompt names needs no approval.
		prompt = "Do the work, and mail anna@example.com: crash mail"
		request = AgentRequest(self.agent, prompt, "Administrator", channel="crash", external_id=session)
		frappe.db.rollback()
		run = start_run(request, RunStatus.QUEUED).name
		before = business_state()
		first = run_worker(run=run, kill_at=kill_at, when=when, later=0)
		if kill_at:
			run_worker(run=run, kill_at=0, when=when, later=LATER)
		frappe.db.rollback()
		return {
			**first,
			"status": frappe.db.get_value("Agent Run", run, "status"),
			"written": {
				key: count - before[key] for key, count in business_state().items() if count != before[key]
			},
			"keys": Counter(self.shop.keys),
			"unknown": frappe.db.count("Agent Tool Call", {"run": run, "status": "Unknown"}),
		}

	def make_agent(self, server) -> str:
		create = make_tool("Create Document", reference_doctype="ToDo")
		note = make_tool("Create Document", reference_doctype="Note")
		find = make_tool("Get List", reference_doctype="ToDo")
		order = make_tool(
			"POST", base_url=f"http://127.0.0.1:{self.shop.server_address[1]}", allow_private_hosts=1
		)
		mail = make_tool("Custom Function", function_path="huf.tests.crash.tools.send_mail", effect="write")
		steps = [
			(find, {"limit": 1}),
			(create, {"description": "crash one"}),
			(order, {"url": "/orders", "body": {"item": 1}}),
			(create, {"description": "crash two"}),
			(find, {"filters": {"description": "crash two"}, "limit": 1}),
			(mail, {"to": "anna@example.com", "subject": "crash mail"}),
			(note, {"title": "crash note", "content": "a"}),
			(order, {"url": "/orders", "body": {"item": 1}}),
			(find, {"limit": 1}),
			(create, {"description": "crash two"}),
			(find, {"limit": 2}),
		]

		def answer(request):
			done = sum(message["role"] == "tool" for message in request["messages"])
			return tool_call(*steps[done]) if done < len(steps) else text("All done.")

		server.forever(answer)
		return make_agent(
			make_model(server), (create, note, find, order, mail), max_iterations=20, persist_conversation=0
		)


def business_state() -> Counter:
	"""Count documents by DocType and content."""
	frappe.db.rollback()
	state = Counter()
	for description in frappe.get_all(
		"ToDo", {"description": ["like", "%crash%"]}, pluck="description", order_by="name"
	):
		state[f"ToDo {frappe.utils.strip_html(description)}"] += 1
	state["Note"] = frappe.db.count("Note", {"title": "crash note"})
	if frappe.db.exists("DocType", "Email Queue"):
		state["mail"] = frappe.db.count("Email Queue")
	else:
		state["mail"] = frappe.db.count("Error Log", {"error": ["like", "%crash mail%"]})
	return state


def set_up_mail() -> None:
	"""Frappe queues mail only with an outgoing account; without Email Account, attempts are Error Logs."""
	if not frappe.db.exists("DocType", "Email Account"):
		return
	if not frappe.db.exists("Email Account", {"default_outgoing": 1}):
		values = {
			"email_id": "huf@example.com",
			"enable_outgoing": 1,
			"default_outgoing": 1,
			"smtp_server": "127.0.0.1",
		}
		account = make_unchecked("Email Account", email_account_name="Huf Test", **values)
		account.db_insert()
		frappe.db.commit()


def make_unchecked(doctype: str, **values):
	doc = frappe.get_doc({"doctype": doctype, **values})
	doc.name = values["email_account_name"]
	return doc
