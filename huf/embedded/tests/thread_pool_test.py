"""The thread pool for requests starts threads as needed and ends idle ones."""

import threading
import time
import unittest

from huf.embedded.thread_pool import ThreadPool


class TestThreadPool(unittest.TestCase):
	def make(self, max_threads: int, idle_s: float = 0.1) -> ThreadPool:
		pool = ThreadPool(max_threads, idle_s)
		self.addCleanup(pool.shutdown)
		return pool

	def test_pool_uses_at_most_max_threads_and_raises_errors_of_tasks(self):
		pool, together = self.make(4), threading.Barrier(4)

		def work(number: int) -> tuple[int, int]:
			together.wait(10)
			return number, threading.get_ident()

		done = [each.result(10) for each in [pool.submit(work, number) for number in range(40)]]
		self.assertEqual([number for number, _thread in done], list(range(40)))
		self.assertEqual(len({thread for _number, thread in done}), 4)
		with self.assertRaises(ZeroDivisionError):
			pool.submit(lambda: 1 / 0).result(10)
		self.assertEqual(pool.submit(int, "7").result(10), 7)

	def test_idle_threads_end_while_one_keeps_working(self):
		pool, together = self.make(8), threading.Barrier(9)
		tasks = [pool.submit(together.wait, 30) for _ in range(8)]
		self.assertEqual(pool.threads, 8)
		together.wait(30)
		for each in tasks:
			each.result(30)

		def count() -> int:
			time.sleep(0.001)
			return pool.threads

		deadline = time.monotonic() + 60
		while (left := pool.submit(count).result(30)) > 1 and time.monotonic() < deadline:
			pass
		self.assertEqual(left, 1)
		while pool.threads and time.monotonic() < deadline:
			time.sleep(0.05)
		self.assertEqual((pool.threads, pool.idle), (0, []))
		self.assertEqual(pool.submit(int, "7").result(10), 7)

	def test_tasks_submitted_while_threads_end_are_not_lost(self):
		pool = self.make(3, idle_s=0.001)
		for _ in range(300):
			tasks = [pool.submit(time.sleep, 0.0005) for _ in range(5)]
			for each in tasks:
				each.result(10)
			time.sleep(0.001)

	def test_shutdown_finishes_or_cancels_queued_tasks_and_refuses_new_ones(self):
		pool, proceed = self.make(1), threading.Event()
		tasks = [pool.submit(proceed.wait, 30), pool.submit(int, "7")]
		pool.shutdown(wait=False)
		proceed.set()
		self.assertEqual(tasks[1].result(10), 7)
		with self.assertRaises(RuntimeError):
			pool.submit(int)
		cancelled, proceed = self.make(1), threading.Event()
		tasks = [cancelled.submit(proceed.wait, 30), cancelled.submit(int)]
		cancelled.shutdown(cancel_futures=True)
		proceed.set()
		self.assertTrue(tasks[1].cancelled())
