"""Two processes with 16 workers each never exceed their one budget, and can spend nearly all of it."""

import json
import os
import random
import threading
import time
from dataclasses import replace

import frappe

from huf.ai.runs.queue import recover_runs, work_on
from huf.tests.base import SiteTestCase
from huf.tests.factories import make_agent, make_model
from huf.tests.forks import FORKS
from huf.tests.model_server import ModelServer, cut, error, text, usage
from huf.tests.spenders import spend_all

THREADS = 16
LIMIT = 0.06
"""USD: pays for at least thirty of the longest answers."""


class Answers:
	"""Model answers of random length, optionally with faults; sums their cost."""

	def __init__(self, faults: bool):
		self.faults, self.random, self.lock = faults, random.Random(7), threading.Lock()
		self.cost = 0.0

	def answer(self, body: dict):
		with self.lock:
			prompt = len(json.dumps(body["messages"])) // 5
			output = self.random.randint(1, body["max_tokens"])
			draw = self.random.random() if self.faults else 1
			if draw < 0.1:
				return error(500, "out of order")
			self.cost += (prompt + 2 * output) / 1_000_000
			answer = text("Here is a long answer.", usage=usage(prompt, output))
		if draw < 0.2:
			return cut(answer, 2)
		return replace(answer, usage=None) if draw < 0.3 else answer


class TestBudgetWorkers(SiteTestCase):
	def spend(self, faults: bool, kill: bool) -> tuple[float, float]:
		"""Lets the workers spend all they can; returns the cost of the answers and of the budget in USD."""
		answers = Answers(faults)
		with ModelServer(strict=False) as server:
			server.forever(answers.answer)
			agent = make_agent(make_model(server), daily_cost_limit=LIMIT, max_tokens=1000)
			processes = [self.start(agent) for _ in range(2)]
			if kill:
				self.kill(processes.pop(), lambda: len(server.requests) > 20)
			for process in processes:
				process.join(120)
				self.assertEqual(process.exitcode, 0)
		frappe.db.rollback()
		row = frappe.db.get_value("Agent Budget", {"holder": agent}, ["cost", "reserved_cost"], as_dict=True)
		self.assertAlmostEqual(row.reserved_cost, 0, places=9)
		return answers.cost, row.cost

	def start(self, agent: str):
		where = (frappe.local.site, os.path.abspath(frappe.local.sites_path))
		process = FORKS.Process(target=spend_all, args=(*where, agent, THREADS))
		process.start()
		self.addCleanup(process.join, 5)
		self.addCleanup(process.kill)
		return process

	def kill(self, process, condition) -> None:
		"""Kills a process in the middle of its calls and takes over its runs."""
		deadline = time.monotonic() + 60
		while not condition():
			self.assertLess(time.monotonic(), deadline)
			time.sleep(0.01)
		process.kill()
		process.join(5)
		frappe.db.rollback()
		lost = {"status": "Started", "worker": ["like", f"%:{process.pid}:%"]}
		for run in frappe.get_all("Agent Run", filters=lost, pluck="name", order_by="creation asc"):
			frappe.db.set_value("Agent Run", run, "lease_until", "2020-01-01", update_modified=False)
		frappe.db.commit()
		for run in recover_runs():
			work_on(run)

	def test_faults_streams_unknown_usage_and_a_killed_worker_never_pass_the_limit(self):
		cost, spent = self.spend(faults=True, kill=True)
		self.assertLessEqual(cost, LIMIT + 1e-9)
		self.assertLessEqual(spent, LIMIT + 1e-9)
		self.assertGreaterEqual(spent, cost - 1e-9)

	def test_concurrent_workers_can_spend_at_least_95_percent_of_the_budget(self):
		cost, spent = self.spend(faults=False, kill=False)
		self.assertAlmostEqual(cost, spent, places=6)
		self.assertLessEqual(cost, LIMIT + 1e-9)
		self.assertGreaterEqual(cost, 0.95 * LIMIT)
