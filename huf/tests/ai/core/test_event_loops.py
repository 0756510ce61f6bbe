"""Event loops and their connections are cached for later runs in any thread."""

import asyncio
import gc
import os
import threading
import time
import unittest
import weakref
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar, copy_context
from unittest.mock import patch

from huf.ai.core import event_loops
from huf.ai.core.event_loops import iterate, run_coroutine
from huf.ai.providers.http_connections import get_session, post

DOCUMENT: ContextVar["Document"] = ContextVar("document")
ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


class Document:
	"""Stands for an object in the context of a run."""


async def get_loop() -> asyncio.AbstractEventLoop:
	return asyncio.get_running_loop()


async def fetch(url: str) -> bytes:
	async with post(url, {}, b"{}", 5, True) as response:
		return await response.read()


def run_in_thread(function):
	results = []
	thread = threading.Thread(target=lambda: results.append(function()))
	thread.start()
	thread.join(20)
	return results[0]


class TestEventLoops(unittest.TestCase):
	def test_event_loop_is_reused_by_the_next_thread(self):
		first = run_in_thread(lambda: run_coroutine(get_loop()))
		self.assertIs(first, run_in_thread(lambda: run_coroutine(get_loop())))

	def test_loop_with_a_pending_task_is_not_reused(self):
		async def leave_pending_task():
			asyncio.get_running_loop().left = asyncio.ensure_future(asyncio.Event().wait())
			return asyncio.get_running_loop()

		left = run_coroutine(leave_pending_task())
		self.assertIsNot(left, run_coroutine(get_loop()))
		left.left.cancel()
		left.run_until_complete(asyncio.gather(left.left, return_exceptions=True))
		left.close()

	def test_context_of_a_run_is_freed_when_it_ends(self):
		references = []

		async def work():
			DOCUMENT.set(Document())
			references.append(weakref.ref(DOCUMENT.get()))
			for _ in range(10):
				await asyncio.wait_for(asyncio.sleep(0), 3600)

		async def report(put):
			put(await work())

		for run in (lambda: run_coroutine(work()), lambda: list(iterate(report, pause_s=3600))):
			copy_context().run(run)
		gc.collect()
		self.assertEqual([each() for each in references], [None, None])

	def test_pending_timer_fires_in_the_next_run_of_the_loop(self):
		fired = []

		async def work(pause_s):
			asyncio.get_running_loop().call_later(0.01, fired.append, True)
			asyncio.get_running_loop().call_later(0, fired.append, True).cancel()
			await asyncio.sleep(pause_s)

		run_coroutine(work(0))
		run_coroutine(work(0.05))
		self.assertEqual(fired, [True, True])

	def test_nested_run_coroutine_uses_another_loop(self):
		async def outer():
			return asyncio.get_running_loop(), run_coroutine(get_loop())

		mine, inner = run_coroutine(outer())
		self.assertIsNot(mine, inner)


class TestConnections(unittest.TestCase):
	def setUp(self):
		"""Start a server that closes each connection after one answer, without announcing it."""
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
		self.addCleanup(self.loop.call_soon_threadsafe, self.stop)

	def stop(self):
		for task in asyncio.all_tasks(self.loop):
			task.cancel()
		self.loop.call_soon(self.loop.stop)

	def test_idle_loops_are_limited_and_surplus_ones_closed_with_their_sessions(self):
		count, together = event_loops.MAX_IDLE_LOOPS + 3, threading.Barrier(event_loops.MAX_IDLE_LOOPS + 3)

		async def work():
			session = get_session()
			await asyncio.to_thread(together.wait, 20)
			return asyncio.get_running_loop(), session

		with ThreadPoolExecutor(count) as pool:
			used = list(pool.map(lambda _: run_coroutine(work()), range(count)))
		open_loops = [loop for loop, _session in used if not loop.is_closed()]
		self.assertLessEqual(len(open_loops), event_loops.MAX_IDLE_LOOPS)
		self.assertEqual([session.closed for _loop, session in used], [loop.is_closed() for loop, _ in used])
		closed = [weakref.ref(each) for pair in used if pair[0].is_closed() for each in pair]
		self.assertGreaterEqual(len(closed), 6)
		del used, open_loops, pool
		# A model's first call freezes all objects of the process, and the collector skips frozen loops.
		gc.unfreeze()
		# A thread that has just woken its loop may still hold a reference to it.
		deadline = time.monotonic() + 10
		while any(each() for each in closed) and time.monotonic() < deadline:
			time.sleep(0.05)
			gc.collect()
		self.assertEqual({each() for each in closed}, {None})

	def test_cached_loop_and_its_connection_hold_no_references_to_their_run(self):
		def run():
			document = Document()
			DOCUMENT.set(document)
			with patch.dict(event_loops._idle_loops, {os.getpid(): []}):
				self.assertEqual(run_coroutine(fetch(self.url)), b"ok")
				loops.extend(event_loops._idle_loops[os.getpid()])
			return weakref.ref(document)

		loops = []
		document = copy_context().run(run)
		gc.collect()
		self.assertEqual(len(loops), 1)
		self.assertIsNone(document())
		loops[0].run_until_complete(event_loops._on_close[loops[0]].pop()())
		loops[0].close()

	def test_a_connection_closed_between_two_runs_is_not_used_again(self):
		async def fetch_in_task():
			# As in every run, the coroutine that waits is a separate task.
			return await asyncio.ensure_future(fetch(self.url))

		for expected in (1, 2):
			self.assertEqual(run_coroutine(fetch_in_task()), b"ok")
			self.assertTrue(self.closed.wait(5))
			self.closed.clear()
			self.assertEqual(self.connections, expected)


class TestIterating(unittest.TestCase):
	def test_items_are_yielded_before_the_coroutine_continues(self):
		happened = []

		async def produce(put):
			for number in range(3):
				put(number)
				await asyncio.sleep(0)
				happened.append(f"after {number}")

		for item in iterate(produce):
			happened.append(item)
		self.assertEqual(happened, [0, "after 0", 1, "after 1", 2, "after 2"])

	def test_error_is_raised_after_the_last_item(self):
		async def fail(put):
			put("said")
			raise ZeroDivisionError

		read = []
		with self.assertRaises(ZeroDivisionError):
			for item in iterate(fail):
				read.append(item)
		self.assertEqual(read, ["said"])

	def test_pause_yields_none_and_closing_the_iterator_lets_the_coroutine_finish(self):
		done = []

		async def wait(put):
			await asyncio.sleep(0.05)
			put("late")
			await asyncio.sleep(0.01)
			done.append(True)

		reading = iterate(wait, pause_s=0.02)
		self.assertIsNone(next(reading))
		reading.close()
		self.assertEqual(done, [True])

	def test_iterate_and_run_coroutine_can_follow_each_other(self):
		async def put_and_end(put):
			put(1)

		for _ in range(3):
			self.assertEqual(list(iterate(put_and_end)), [1])
			self.assertEqual(run_coroutine(asyncio.sleep(0.001, "done")), "done")


class TestBackgroundLoop(unittest.TestCase):
	def test_concurrent_threads_share_one_background_loop(self):
		no_process, ready = -1, threading.Barrier(16)

		def find():
			ready.wait()
			return event_loops.get_background_loop("models", no_process)

		with ThreadPoolExecutor(16) as pool:
			loops = {future.result() for future in [pool.submit(find) for _ in range(16)]}
		(loop,) = loops
		loop.call_soon_threadsafe(loop.stop)
		del event_loops._background_loops["models", no_process]
