"""A run that waits for its model holds no database connection."""

import time

import frappe

from huf.ai.runs.entry import run_agent_sync
from huf.embedded.tests.sites import SiteTestCase
from huf.tests.base import enter
from huf.tests.factories import make_agent, make_model
from huf.tests.model_server import ModelServer, text


class TestWaitingRuns(SiteTestCase):
	def test_a_run_that_waits_for_its_model_holds_no_connection(self):
		server = enter(self, ModelServer(strict=False))
		agent, database, borrowed = make_agent(make_model(server)), frappe.db, []

		def answer(_request: dict):
			# Longer than the interval in which guards check whether the run is cancelled.
			for _ in range(12):
				time.sleep(0.1)
				borrowed.append(database._borrowed)
			return text("Done.")

		server.forever(answer)
		self.assertEqual(run_agent_sync(agent, "Wait")["status"], "Success")
		self.assertLess(len([each for each in borrowed if each]), 3, borrowed)
