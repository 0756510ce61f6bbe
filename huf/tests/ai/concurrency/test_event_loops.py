"""Event loops that are kept for the next run, with their connections, whichever thread it is in."""

import asyncio
import signal
import threading
import time
import unittest
from unittest.mock import patch

from huf.ai.concurrency import driver
from huf.ai.concurrency.driver import LONG, Work, is_lent
from huf.ai.concurrency.event_loops import iterate, run_coroutine
from huf.ai.providers.connection import post

ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


async def running() -> asyncio.AbstractEventLoop:
	return asyncio.get_running_loop()


async def ask(url: str) -> bytes:
	async with post(url, {}, b"{}", 5, True) as response:
		return await response.read()


def in_another_thread(function):
	given = []
	thread = threading.Thread(target=lambda: given.append(function()))
	thread.start()
	thread.join(20)
	return given[0]


class TestEventLoops(unittest.TestCase):
	def test_the_next_thread_goes_on_with_the_loop_of_the_last(self):
		first = in_another_thread(lambda: run_coroutine(running()))
		self.assertIs(first, in_another_thread(lambda: run_coroutine(running())))

	def test_a_loop_in_which_something_is_left_goes_to_nobody(self):
		async def leave_something():
			asyncio.get_running_loop().left = asyncio.ensure_future(asyncio.Event().wait())
			return asyncio.get_running_loop()

		left = run_coroutine(leave_something())
		self.assertIsNot(left, run_coroutine(running()))
		left.left.cancel()
		left.run_until_complete(asyncio.gather(left.left, return_exceptions=True))
		left.close()

	def test_a_coroutine_within_one_has_a_loop_of_its_own(self):
		async def outer():
			return asyncio.get_running_loop(), run_coroutine(running())

		mine, inner = run_coroutine(outer())
		self.assertIsNot(mine, inner)


class TestConnections(unittest.TestCase):
	def setUp(self):
		"""A server that keeps a connection open for one answer, and says nothing of it."""
		self.loop, self.connections, self.closed = asyncio.new_event_loop(), 0, threading.Event()
		thread = threading.Thread(target=self.loop.run_forever)
		thread.start()

		async def serve(reader, writer):
			self.connections += 1
			await reader.readuntil(b"\r\n\r\n{}")
			writer.write(ANSWER)
			await writer.drain()
			await asyncio.sleep(0.05)
			writer.close()
			await writer.wait_closed()
			self.closed.set()

		server = asyncio.start_server(serve, "127.0.0.1", 0)
		self.server = asyncio.run_coroutine_threadsafe(server, self.loop).result(5)
		self.url = f"http://127.0.0.1:{self.server.sockets[0].getsockname()[1]}/"
		self.addCleanup(thread.join, 5)
		self.addCleanup(self.loop.call_soon_threadsafe, self.loop.stop)

	def test_a_connection_closed_between_two_runs_is_not_used_again(self):
		async def asked_in_a_run():
			# As every run does: it waits in a task of its own.
			return await asyncio.ensure_future(ask(self.url))

		for expected in (1, 2):
			self.assertEqual(run_coroutine(asked_in_a_run()), b"ok")
			self.assertTrue(self.closed.wait(5))
			self.closed.clear()
			self.assertEqual(self.connections, expected)


class TestIterating(unittest.TestCase):
	def test_what_is_put_is_read_before_the_coroutine_goes_on(self):
		happened = []

		async def tell(put):
			for number in range(3):
				put(number)
				await asyncio.sleep(0)
				happened.append(f"after {number}")

		for item in iterate(tell):
			happened.append(item)
		self.assertEqual(happened, [0, "after 0", 1, "after 1", 2, "after 2"])

	def test_what_is_put_last_is_read_and_its_error_is_raised_behind_it(self):
		async def fail(put):
			put("said")
			raise ZeroDivisionError

		read = []
		with self.assertRaises(ZeroDivisionError):
			for item in iterate(fail):
				read.append(item)
		self.assertEqual(read, ["said"])

	def test_a_silence_is_told_and_a_reader_who_leaves_stops_nothing(self):
		done = []

		async def wait(put):
			await asyncio.sleep(0.05)
			put("late")
			await asyncio.sleep(0.01)
			done.append(True)

		reading = iterate(wait, pause=0.02)
		self.assertIsNone(next(reading))
		reading.close()
		self.assertEqual(done, [True])

	def test_the_loop_is_fit_for_the_next_however_the_last_ended(self):
		async def put_and_end(put):
			put(1)

		for _ in range(3):
			self.assertEqual(list(iterate(put_and_end)), [1])
			self.assertEqual(run_coroutine(asyncio.sleep(0.001, "done")), "done")


class TestCalls(unittest.TestCase):
	"""Synchronous code on a loop that has a driver (a run's), and on one that has none (a stream's)."""

	def each(self, made):
		"""What the coroutine `made` gives on both."""
		return [("driven", run_coroutine(made())), ("not driven", alone(made))]

	def test_one_call_after_the_other_is_made_in_the_same_thread(self):
		async def made():
			here = threading.get_ident()
			return [await Work(threading.get_ident, nothing) for _ in range(3)], here

		for loop, (threads, here) in self.each(made):
			with self.subTest(loop):
				self.assertEqual(len(set(threads)), 1)
				# Where there is a driver, it is the one who makes them; and it is not who waits for the run.
				self.assertEqual(threads[0] == here, loop == "driven")
				self.assertNotEqual(threads[0], threading.get_ident())

	def test_calls_at_once_that_wait_for_one_another_have_a_thread_each(self):
		async def made():
			both = threading.Barrier(2, timeout=5)
			return await asyncio.gather(*(Work(both.wait, nothing).whole() for _ in range(2)))

		for loop, given in self.each(made):
			with self.subTest(loop):
				self.assertEqual(sorted(given), [0, 1])

	def test_what_lasts_leaves_the_loop_to_others_and_is_left_behind_when_cancelled(self):
		left = []

		async def made():
			go_on = threading.Event()
			work = Work(lambda: go_on.wait(5), lambda _: left.append("in time"))
			self.assertIsNone(await work.soon())
			self.assertTrue(is_lent())
			go_on.set()
			self.assertTrue(await work.rest())
			never = threading.Event()
			self.addCleanup(never.set)
			abandoned = asyncio.ensure_future(Work(never.wait, lambda _: left.append("too late")).whole())
			await asyncio.sleep(0.01)
			abandoned.cancel()
			with self.assertRaises(asyncio.CancelledError):
				await abandoned
			return is_lent()

		self.assertEqual(self.each(made), [("driven", False), ("not driven", False)])
		self.assertEqual(left, ["too late"] * 2)

	def test_what_it_raises_is_raised_however_long_it_lasts(self):
		def fail(seconds: float):
			time.sleep(seconds)
			raise ZeroDivisionError

		async def made(seconds: float):
			await Work(lambda: fail(seconds), nothing)

		for seconds in (0, LONG * 2.5):
			for run in (run_coroutine, lambda coroutine: alone(lambda: coroutine)):
				with self.subTest(seconds=seconds), self.assertRaises(ZeroDivisionError):
					run(made(seconds))

	def test_a_call_may_run_a_coroutine_of_its_own(self):
		async def made():
			return await Work(lambda: run_coroutine(asyncio.sleep(0, "inner")), nothing)

		self.assertEqual([given for _, given in self.each(made)], ["inner", "inner"])

	def test_what_is_cancelled_before_its_turn_is_not_called(self):
		called = []

		async def made():
			work = asyncio.ensure_future(Work(lambda: called.append(True), nothing).whole())
			asyncio.get_running_loop().call_soon(work.cancel)
			await asyncio.sleep(0)
			await asyncio.wait({work})

		run_coroutine(made())
		self.assertEqual(called, [])

	def test_what_is_cancelled_when_another_thread_takes_the_loop_over_is_left_behind(self):
		left, never = [], threading.Event()
		self.addCleanup(never.set)

		async def made():
			loop = asyncio.get_running_loop()
			work = asyncio.ensure_future(Work(never.wait, lambda _: left.append(True)).whole())
			await asyncio.sleep(0)
			# It comes first when the loop goes on, before whoever waits for the call hears of that.
			threading.Timer(LONG / 2, loop.call_soon_threadsafe, (work.cancel,)).start()
			await asyncio.wait({work})
			return work.cancelled(), is_lent()

		self.assertEqual(run_coroutine(made()), (True, False))
		self.assertEqual(left, [True])

	def test_who_is_stopped_by_a_signal_leaves_nothing_that_goes_on(self):
		went_on, left = [], []

		async def made(call):
			await Work(call, lambda _: left.append(True))
			went_on.append(True)

		for call in (lambda: time.sleep(0.15), lambda: asyncio.run(asyncio.sleep(0.15))):
			self.stop_after(0.05, made(call))
		# Later it is the waiting thread that drives the loop.
		self.stop_after(LONG * 2.5, made(lambda: time.sleep(LONG * 4)))
		self.assertEqual((went_on, left, is_lent()), ([], [], False))
		self.assertEqual(run_coroutine(asyncio.sleep(0, "next")), "next")

	def test_a_call_that_does_not_end_then_is_left_behind(self):
		left, never = [], threading.Event()
		self.addCleanup(never.set)

		async def made():
			await Work(never.wait, lambda _: left.append(True))

		with patch.object(driver, "GRACE", 0.05):
			for seconds in (0.05, LONG * 2.5):
				self.stop_after(seconds, made())
		self.assertEqual((left, is_lent()), ([True, True], False))

	def stop_after(self, seconds: float, coroutine):
		class Stopped(Exception):
			pass

		def stop(*_):
			raise Stopped

		self.addCleanup(signal.signal, signal.SIGALRM, signal.signal(signal.SIGALRM, stop))
		signal.setitimer(signal.ITIMER_REAL, seconds)
		with self.assertRaises(Stopped):
			run_coroutine(coroutine)


def nothing(_) -> None:
	"""In the place of what takes frappe away."""


def alone(made):
	loop = asyncio.new_event_loop()
	try:
		return loop.run_until_complete(made())
	finally:
		loop.close()
