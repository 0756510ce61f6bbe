"""Synchronous tools run in threads that can be abandoned, each with its own `frappe.local`."""

import asyncio
import signal
import threading
from collections import deque
from unittest.mock import patch

import frappe

from huf.ai.core import tool_threads
from huf.ai.core.errors import RunStopped
from huf.ai.core.event_loops import run_coroutine
from huf.ai.core.tool_threads import is_tool_running, run_in_thread
from huf.ai.loop.guards import Cancelled, Progress
from huf.ai.loop.waiting import watch
from huf.tests.base import SiteTestCase
from huf.tests.factories import make_user, unique


class TestCalls(SiteTestCase):
	def test_a_call_runs_in_another_thread_on_the_same_connection(self):
		thread, db = run_coroutine(run_in_thread(lambda: (threading.get_ident(), frappe.local.db)))
		self.assertNotEqual(thread, threading.get_ident())
		self.assertIs(db, frappe.local.db)

	def test_an_idle_thread_is_used_again(self):
		threads = {run_coroutine(run_in_thread(threading.get_ident)) for _ in range(20)}
		self.assertLess(len(threads), 10)

	def test_exceptions_of_the_function_reach_the_caller(self):
		def fail():
			raise ZeroDivisionError

		with self.assertRaises(ZeroDivisionError):
			run_coroutine(run_in_thread(fail))

	def test_a_call_may_run_a_coroutine(self):
		inner = run_coroutine(run_in_thread(lambda: run_coroutine(asyncio.sleep(0, "inner"))))
		self.assertEqual(inner, "inner")

	def test_concurrent_calls_run_in_parallel_threads(self):
		both = threading.Barrier(2, timeout=30)

		async def call_both():
			return await asyncio.gather(run_in_thread(both.wait), run_in_thread(both.wait))

		self.assertEqual(sorted(run_coroutine(call_both())), [0, 1])

	def test_flags_and_messages_are_copied_back_but_the_session_user_is_not(self):
		user = make_user("Huf User")

		def change_state():
			frappe.flags.huf_test_flag = True
			frappe.msgprint("from the call")
			frappe.set_user(user)

		self.addCleanup(frappe.flags.pop, "huf_test_flag", None)
		run_coroutine(run_in_thread(change_state))
		self.assertTrue(frappe.flags.huf_test_flag)
		self.assertEqual(frappe.session.user, "Administrator")
		self.assertIn("from the call", str(frappe.local.message_log.pop()))

	def test_is_tool_running_is_true_until_the_call_ends(self):
		async def check():
			release = threading.Event()
			call = asyncio.ensure_future(run_in_thread(lambda: release.wait(30)))
			await asyncio.sleep(0.01)
			during = is_tool_running()
			release.set()
			return during, await call, is_tool_running()

		self.assertEqual(run_coroutine(check()), (True, True, False))

	def test_no_tool_is_running_after_a_thread_could_not_start(self):
		with (
			# Always empty, even if a thread of an earlier test ends its call now.
			patch.object(tool_threads, "_idle", deque(maxlen=0)),
			patch.object(threading.Thread, "start", side_effect=RuntimeError("can't start new thread")),
			self.assertRaises(RuntimeError),
		):
			run_coroutine(run_in_thread(threading.get_ident))
		self.assertFalse(is_tool_running())


class TestAbandoned(SiteTestCase):
	def setUp(self):
		super().setUp()
		self.title = unique("Note")
		self.written, self.resume, self.ended = threading.Event(), threading.Event(), threading.Event()
		self.errors: list[Exception] = []
		self.addCleanup(self.resume.set)

	def write_twice(self):
		"""Writes, switches the user, waits, and writes again."""
		frappe.get_doc({"doctype": "Note", "title": self.title}).insert()
		self.written.set()
		frappe.session.user, frappe.flags.huf_test_flag = "Guest", True
		self.resume.wait(10)
		try:
			frappe.get_doc({"doctype": "Note", "title": f"{self.title} later"}).insert(
				ignore_permissions=True
			)
			frappe.db.commit()
		except Exception as error:
			self.errors.append(error)
		self.ended.set()

	def abandon(self):
		async def fail_run():
			with self.assertRaises(RunStopped):
				# The guard waits for the first write, which may be slow.
				guard = Cancelled(lambda waiting: self.written.is_set())
				await watch(run_in_thread(self.write_twice), [guard], Progress(1))

		run_coroutine(fail_run())

	def test_an_abandoned_call_cannot_write_or_change_user_or_flags(self):
		before = frappe.local.db
		self.abandon()
		self.assertIsNot(frappe.local.db, before)
		self.assertEqual((frappe.session.user, frappe.flags.huf_test_flag), ("Administrator", None))
		self.resume.set()
		self.assertTrue(self.ended.wait(10))
		self.assertEqual(len(self.errors), 1)
		self.assertEqual(
			frappe.get_all("Note", {"title": ["like", f"{self.title}%"]}, order_by="name asc"), []
		)

	def test_a_signal_abandons_what_still_runs(self):
		continued, stopped, silent = [], threading.Event(), threading.Event()

		class Stopped(Exception):
			pass

		def stop(_signal, frame):
			# In a callback, the event loop would log the exception and go on.
			if frame.f_code.co_name == "select" and not stopped.is_set():
				stopped.set()
				raise Stopped

		def interrupt():
			while not stopped.wait(0.05):
				signal.pthread_kill(threading.main_thread().ident, signal.SIGALRM)
			silent.set()
			self.resume.wait(30)

		async def call():
			await run_in_thread(interrupt)
			continued.append(True)

		before = frappe.local.db
		self.addCleanup(signal.signal, signal.SIGALRM, signal.signal(signal.SIGALRM, stop))
		with self.assertRaises(Stopped):
			run_coroutine(call())
		self.assertTrue(silent.wait(30))
		self.assertEqual((continued, is_tool_running()), ([], False))
		self.assertIsNot(frappe.local.db, before)
		self.assertEqual(run_coroutine(asyncio.sleep(0, "next")), "next")

	def test_the_next_call_has_the_new_connection(self):
		self.abandon()
		name = frappe.get_doc({"doctype": "Note", "title": unique("Note")}).insert().name
		self.assertTrue(run_coroutine(run_in_thread(lambda: frappe.db.exists("Note", name))))
