"""After a stop, three workers with many runs, one of them killed, write nothing and begin no model call.

HUF_STOP_RUNS: the number of runs, 30 by default.
"""

import os
import signal
import subprocess
import sys
import time
import unittest
from contextlib import suppress
from pathlib import Path

import frappe
from frappe.utils import add_to_date, now_datetime

from huf.ai.core.types import AgentRequest, RunStatus
from huf.ai.runs.queue import enqueue_work, work_on
from huf.ai.runs.start import start_run
from huf.ai.runs.stopping import release, stop
from huf.ai.storage.stops import read_stops, remove_stop
from huf.tests.ai.runs.stop_worker import work_on_all
from huf.tests.base import SiteTestCase, enter
from huf.tests.factories import make_agent, make_model, make_tool, unique
from huf.tests.forks import FORKS
from huf.tests.model_server import ModelServer, text, tool_call

RUNS = int(os.environ.get("HUF_STOP_RUNS", 30))
STEPS = 3
TIMEOUT_S = 1_800


class TestStopWorkers(SiteTestCase):
	def setUp(self):
		super().setUp()
		self.server = enter(self, ModelServer(strict=False))
		tool = make_tool("Create Document", reference_doctype="ToDo")
		self.marker = unique("worker")

		def answer(request):
			time.sleep(0.01)
			done = sum(message["role"] == "tool" for message in request["messages"])
			# The prompt identifies the run, so that its writes can be counted.
			label = next(message["content"] for message in request["messages"] if message["role"] == "user")
			return tool_call(tool, {"description": f"{label}.{done}"}) if done < STEPS else text("Done.")

		self.server.forever(answer)
		self.agent = make_agent(make_model(self.server), (tool,), persist_conversation=0)
		self.addCleanup(self.release_all)

	def release_all(self):
		for each in read_stops():
			remove_stop(each["name"])
		frappe.db.commit()

	def test_stop_halts_writes_and_model_calls_and_release_ends_each_run_once(self):
		runs = [self.enqueue(number) for number in range(RUNS)]
		workers = self.start_workers(runs)
		self.wait_until(lambda: self.count() >= RUNS // 3)
		self.kill(workers[0])
		name = stop("All", None, "test")["stop"]["name"]
		before = self.count(), self.count_model_calls(runs)
		for worker in workers[1:]:
			self.wait_for(worker)
		self.assertEqual((self.count(), self.count_model_calls(runs)), before)
		self.assertLess(before[0], RUNS * STEPS)
		waiting = release(name)
		self.assertTrue(waiting)
		self.work_on_released(runs)
		frappe.db.rollback()
		ended = frappe.get_all("Agent Run", {"name": ["in", runs]}, pluck="status", order_by="creation asc")
		self.assertEqual(ended, ["Success"] * RUNS)
		written = frappe.get_all(
			"ToDo", {"description": ["like", f"%{self.marker}%"]}, pluck="description", order_by="name"
		)
		self.assertEqual(len(set(written)), RUNS * STEPS)
		self.assertEqual(len(written), RUNS * STEPS)

	def enqueue(self, number: int) -> str:
		request = AgentRequest(
			self.agent, f"{self.marker} {number}", "Administrator", external_id=unique("worker")
		)
		return start_run(request, RunStatus.QUEUED).name

	def start_workers(self, runs: list[str]) -> list:
		return [self.start_worker(runs[number::3]) for number in range(3)]

	def kill(self, worker) -> None:
		worker.kill()
		self.wait_for(worker)

	def wait_for(self, worker) -> None:
		worker.join(TIMEOUT_S)

	def work_on_released(self, runs: list[str]) -> None:
		"""Takes over the killed worker's run too, as if its lease had expired."""
		later = add_to_date(now_datetime(), seconds=3600, as_datetime=True)
		for run in runs:
			work_on(run, later)

	def start_worker(self, runs: list[str]):
		where = (frappe.local.site, os.path.abspath(frappe.local.sites_path))
		worker = FORKS.Process(target=work_on_all, args=(*where, runs))
		worker.start()
		self.addCleanup(worker.join, TIMEOUT_S)
		self.addCleanup(worker.kill)
		return worker

	def wait_until(self, condition) -> None:
		deadline = time.monotonic() + TIMEOUT_S
		while not condition():
			self.assertLess(time.monotonic(), deadline, "the workers did nothing")
			time.sleep(0.01)

	def count(self) -> int:
		frappe.db.rollback()
		return frappe.db.count("ToDo", {"description": ["like", f"%{self.marker}%"]})

	def count_model_calls(self, runs: list[str]) -> int:
		return frappe.db.count("Agent LLM Call", {"run": ["in", runs]})


@unittest.skipIf("huf.embedded" in sys.modules, "RQ needs a bench")
class TestStopRq(TestStopWorkers):
	"""The same with the RQ workers of a bench, which fork a process for each job."""

	def start_workers(self, runs: list[str]) -> list[subprocess.Popen]:
		for run in runs:
			enqueue_work(run)
		return self.start_rq_workers()

	def start_rq_workers(self) -> list[subprocess.Popen]:
		command = [sys.executable, "-m", "frappe.utils.bench_helper", "frappe", "worker", "--queue", "long"]
		workers = [
			subprocess.Popen([*command, "--burst", "--quiet"], cwd=os.path.abspath(frappe.local.sites_path))
			for _ in range(3)
		]
		for worker in workers:
			self.addCleanup(worker.wait, TIMEOUT_S)
			self.addCleanup(worker.terminate)
		return workers

	def kill(self, worker: subprocess.Popen) -> None:
		children = Path(f"/proc/{worker.pid}/task/{worker.pid}/children").read_text().split()
		super().kill(worker)
		for child in children:
			with suppress(ProcessLookupError):
				os.kill(int(child), signal.SIGKILL)

	def wait_for(self, worker: subprocess.Popen) -> None:
		worker.wait(TIMEOUT_S)

	def work_on_released(self, runs: list[str]) -> None:
		for worker in self.start_rq_workers():
			self.wait_for(worker)
		super().work_on_released(runs)
