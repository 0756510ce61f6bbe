"""Who uses the database at a time: so many, in order, and nobody waits for those who wait for it."""

import threading
import time
import unittest
from unittest.mock import patch

import frappe
from frappe.database import places
from frappe.database.places import Places

from huf.ai.runs.entry import run_agent_sync
from huf.embedded.tests.sites import SiteTestCase
from huf.tests.base import enter
from huf.tests.factories import make_agent, make_model
from huf.tests.model_server import ModelServer, text


class TestPlaces(unittest.TestCase):
	def setUp(self):
		self.places, self.order = Places(2), []

	def use(self, number: int) -> None:
		self.places.take()
		self.order.append(number)

	def start(self, number: int) -> threading.Thread:
		"""A thread that waits in line, or has its place."""
		thread = threading.Thread(target=self.use, args=(number,), daemon=True)
		waiting = len(self.places._waiting)
		thread.start()
		while thread.is_alive() and len(self.places._waiting) == waiting:
			time.sleep(0.001)
		return thread

	@patch.object(places, "PATIENCE_S", 60)
	def test_only_so_many_at_once_the_others_in_the_order_in_which_they_came(self):
		threads = [self.start(number) for number in range(5)]
		self.assertEqual((self.order, self.places.taken), ([0, 1], 2))
		for number in range(2, 5):
			self.places.leave()
			threads[number].join(30)
			self.assertEqual((self.order[-1], self.places.taken), (number, 2))
		self.places.leave()
		self.places.leave()
		self.assertEqual(self.places.taken, 0)

	@patch.object(places, "PATIENCE_S", 0.01)
	def test_who_waits_for_those_who_do_not_leave_goes_ahead(self):
		for number in range(4):
			self.use(number)
		self.assertEqual(self.places.taken, 4)
		for _ in range(4):
			self.places.leave()
		self.assertEqual(self.places.taken, 0)
		self.use(4)
		self.assertEqual(self.places.taken, 1)


class TestWaitingRuns(SiteTestCase):
	def test_a_run_that_waits_for_its_model_holds_no_connection(self):
		server = enter(self, ModelServer(strict=False))
		agent, database, held = make_agent(make_model(server)), frappe.db, []

		def answer(_request: dict):
			# Longer than the guards wait before they look whether the run is cancelled.
			for _ in range(12):
				time.sleep(0.1)
				held.append(database._borrowed)
			return text("Done.")

		server.forever(answer)
		self.assertEqual(run_agent_sync(agent, "Wait")["status"], "Success")
		self.assertLess(len([each for each in held if each]), 3, held)
