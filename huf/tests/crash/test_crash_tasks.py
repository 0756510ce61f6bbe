"""Workers and web workers killed at every commit of an MCP task: polling returns one and the same result."""

import os
import unittest

import frappe

from huf.ai.runs.queue import recover_runs
from huf.tests.api.test_mcp import TASKS, McpTestCase
from huf.tests.crash.killer import run_worker
from huf.tests.crash.test_crash import LATER
from huf.tests.factories import make, make_agent, make_tool, unique

WHEN = ("before", "after")


@unittest.skipUnless(hasattr(os, "fork"), "workers are forked")
class TestCrashTasks(McpTestCase):
	def setUp(self):
		super().setUp()
		self.tool = make_tool("Create Document", reference_doctype="ToDo", requires_approval=1)
		offer = {"offer_type": "Agent Tool Function", "offer": self.tool, "background": "If Possible"}
		agent = make_agent(None, (self.tool,))
		self.slug = make("MCP Server", server_name=unique("Tasks"), agent=agent, offers=[offer]).slug
		frappe.db.commit()

	def test_a_task_killed_at_any_commit_has_one_call_and_one_result(self):
		stages = self.run_task()
		self.assertGreater(min(stages.values()), 0, stages)
		tested = 0
		for stage, commits in stages.items():
			for when in WHEN:
				for number in range(1, commits + 1):
					with self.subTest(f"{when} commit {number} of {commits}, {stage}"):
						self.run_task({stage: (number, when)})
						tested += 1
		print(f"\n{tested} kill points tested: {stages}")

	def run_task(self, kills: dict | None = None) -> dict[str, int]:
		"""Run a task from its call to its result. `kills`: {stage: (number of the commit, when)}.

		Returns the number of commits of each stage, counted if nothing is killed.
		"""
		self.kills, self.commits, self.is_counting = kills or {}, {}, not kills
		description = unique("Task")
		task = self.begin({"description": description, "allocated_to": self.user})
		self.work("run before approval", task)
		waiting = self.poll(task)
		self.assertEqual(waiting["status"], "input_required", waiting)
		self.answer(task, waiting)
		self.work("run after approval", task)
		done = self.poll(task)
		self.assertEqual((done["status"], done["result"]["isError"]), ("completed", False))
		self.assertEqual(self.poll(task)["result"], done["result"])
		self.assertEqual(self.calls(task), [(self.tool, "Success")])
		(made,) = frappe.get_all("ToDo", {"description": description}, pluck="name", order_by="name asc")
		self.assertEqual(done["result"]["structuredContent"]["name"], made)
		return self.commits

	def begin(self, arguments: dict) -> str:
		"""Start a task. A client that gets no response calls again; the first task waits for approval."""
		return self.request("call", "tools/call", {"name": self.tool, "arguments": arguments})["taskId"]

	def answer(self, task: str, waiting: dict) -> None:
		"""Approve. A client that gets no response approves again; a stored approval resumes by itself."""
		(key,) = waiting["inputRequests"]
		self.request(
			"approval", "tasks/update", {"taskId": task, "inputResponses": {key: {"action": "accept"}}}
		)
		recover_runs()

	def request(self, stage: str, method: str, params: dict) -> dict:
		"""Send a client's request; in a stage with a kill, it goes to the web worker that is killed first."""
		if self.is_counting or stage in self.kills:
			self.kill(stage, request=self.build_request(method, params, meta=TASKS))
		return self.result(method, params, meta=TASKS)

	def work(self, stage: str, task: str) -> None:
		"""Run a worker; if it is killed, the client polls, and another worker runs an hour later."""
		if not self.is_counting and stage not in self.kills:
			self.go_on(task)
			return
		self.kill(stage, run=task)
		if stage in self.kills:
			self.assertIn(self.poll(task)["status"], ("working", "input_required", "completed"))
			run_worker(run=task, kill_at=0, when="before", later=LATER)

	def kill(self, stage: str, **order) -> None:
		number, when = self.kills.get(stage, (0, "before"))
		ended = run_worker(kill_at=number, when=when, later=0, **order)
		if not ended["killed"]:
			# Frappe commits a user's last activity only now and then, so there may be fewer commits.
			self.assertTrue(number == 0 or ended["commits"] < number, ended)
		self.commits[stage] = ended["commits"]

	def poll(self, task: str) -> dict:
		return self.result("tasks/get", {"taskId": task}, meta=TASKS)


del McpTestCase
