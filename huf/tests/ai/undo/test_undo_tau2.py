"""The gold calls of tau2-bench retail run as Huf tools, and undoing each task restores the database."""

import copy
import os
import unittest
from pathlib import Path

import frappe

from huf.tests.ai.undo.runs import Worker, undo
from huf.tests.ai.undo.tau2 import Shop, make_shop_doctypes
from huf.tests.base import SiteTestCase, enter
from huf.tests.factories import make_tool
from huf.tests.model_server import ModelServer

ROOT = os.environ.get("HUF_TAU2", "")
TASKS = 114


@unittest.skipUnless(ROOT, "HUF_TAU2 is not set to a checkout of sierra-research/tau2-bench")
class TestTau2(SiteTestCase):
	def test_every_task_reaches_the_gold_hash_and_its_undo_the_initial_hash(self):
		make_shop_doctypes()
		shop = Shop(Path(ROOT))
		shop.fill()
		parameters = [
			{"fieldname": "name", "type": "string", "required": 1},
			{"fieldname": "arguments", "type": "object", "required": 1},
		]
		tool = make_tool(
			"Custom Function",
			function_path="huf.tests.ai.undo.tau2.call_shop",
			effect="write",
			documents_only=1,
			parameters=parameters,
		)
		worker = Worker(enter(self, ModelServer(strict=False)), (), tool)
		initial_hash, written = shop.database.get_hash(), 0
		self.assertEqual(len(shop.tasks), TASKS)
		for task in shop.tasks:
			with self.subTest(task["id"]):
				actions = task["evaluation_criteria"]["actions"] or []
				gold_hash = self.run_in_memory(shop, actions)
				run = worker.run(
					*(
						(tool, None, {"name": each["name"], "arguments": each["arguments"]})
						for each in actions
					)
				)
				changed = frappe.get_all(
					"Agent Change",
					{"run": run},
					["reference_doctype", "reference_name"],
					order_by="creation asc",
				)
				names = [(row.reference_doctype, row.reference_name) for row in changed]
				self.assertEqual(shop.reload(names), gold_hash)
				if names:
					written += 1
					undo(run)
				self.assertEqual(shop.reload(names), initial_hash)
		print(f"\n{TASKS} tasks of tau2-bench retail, {written} of them write")

	def run_in_memory(self, shop: Shop, actions: list[dict]) -> str:
		"""The hash of a copy of tau2's database after the gold calls."""
		database = copy.deepcopy(shop.database)
		tools = type(shop.tools)(database)
		for action in actions:
			try:
				getattr(tools, action["name"])(**action["arguments"])
			except ValueError:
				continue
		return database.get_hash()
