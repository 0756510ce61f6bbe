"""The loop on which models are asked: one for a process, however many threads want it first."""

import threading
import unittest
from concurrent.futures import ThreadPoolExecutor

from huf.ai.concurrency import model_thread

NO_PROCESS = -1


class TestModelThread(unittest.TestCase):
	def test_threads_that_ask_at_once_have_one_loop(self):
		ready = threading.Barrier(16)

		def ask():
			ready.wait()
			return model_thread.models_loop(NO_PROCESS)

		with ThreadPoolExecutor(16) as pool:
			loops = {future.result() for future in [pool.submit(ask) for _ in range(16)]}
		(loop,) = loops
		loop.call_soon_threadsafe(loop.stop)
		del model_thread.loops[NO_PROCESS]
