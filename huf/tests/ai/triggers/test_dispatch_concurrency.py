"""With many concurrent writers and workers, every event starts one run and none is lost."""

import os
import random
from collections import Counter

import frappe

from huf.ai.core.session import acting_as
from huf.ai.runs.queue import work_on
from huf.ai.triggers.runs import open_event_run
from huf.tests.contract.connections import together
from huf.tests.factories import make_user
from huf.tests.triggers import TriggerTestCase, events_of, runs_of, todo

WRITERS, WORKERS = 8, 4
SAVES = int(os.environ.get("HUF_TEST_SAVES", "160"))
"""Few, to keep the suite quick; embedded/tests/trigger_workers_test.py makes 500 with worker processes."""


class TestConcurrency(TriggerTestCase):
	def test_concurrent_saves_start_one_run_per_save_and_matching_trigger(self):
		triggers = [
			self.trigger(),
			self.trigger(doc_event="on_change", condition="doc.description.startswith('save')"),
			self.trigger(condition="doc.has_value_changed('description')"),
		]
		never = self.trigger(condition="doc.description == 'never'")
		wanted = Counter(save_together(SAVES))
		for trigger in triggers:
			self.assertEqual(Counter(event.reference_name for event in events_of(trigger)), wanted)
		open_together([event.name for trigger in triggers for event in events_of(trigger)])
		for trigger in triggers:
			runs = runs_of(trigger)
			self.assertEqual(Counter(run.reference_name for run in runs), wanted)
			self.assertEqual(len({run.conversation for run in runs}), WRITERS, "one per user")
			events = {event.run: event.status for event in events_of(trigger)}
			self.assertEqual(events, {run.name: "Fired" for run in runs})
		self.assertEqual({event.status for event in events_of(never)}, {"Skipped"})
		self.assertTrue(all(work_on(run.name) for run in runs_of(triggers[0])[-WRITERS:]))

	def test_concurrent_first_events_of_a_user_share_one_conversation(self):
		trigger = self.trigger()
		with acting_as(self.user):
			for _ in range(WRITERS):
				todo()
		frappe.db.commit()
		together([(open_event_run, event.name) for event in events_of(trigger)])
		frappe.db.rollback()
		runs = runs_of(trigger)
		self.assertEqual((len(runs), len({run.conversation for run in runs})), (WRITERS, 1))


def save_together(saves: int) -> list[str]:
	"""Saves to-dos on one connection per writer; returns the document of each committed save."""
	users = [make_user("Huf User") for _ in range(WRITERS)]
	shares = [saves // WRITERS + (number < saves % WRITERS) for number in range(WRITERS)]
	saved = together([(write, *pair) for pair in zip(users, shares, strict=True)])
	frappe.db.rollback()
	return sum(saved, [])


def open_together(events: list[str]) -> None:
	"""Several workers open the runs of all events, each in its own random order."""
	orders = [random.sample(events, len(events)) for _ in range(WORKERS)]
	together([(open_all, order) for order in orders])
	frappe.db.rollback()


def open_all(events: list[str]) -> None:
	for event in events:
		open_event_run(event)


def write(user: str, saves: int) -> list[str]:
	"""Inserts documents, saves them again, and rolls back about every seventh save."""
	done: list[str] = []
	with acting_as(user):
		while len(done) < saves:
			doc = todo(description=f"save {len(done)}")
			frappe.db.commit()
			done.append(doc.name)
			for _ in range(min(3, saves - len(done))):
				doc.description = f"save {len(done)}"
				doc.save()
				if random.random() < 1 / 7:
					frappe.db.rollback()
					doc.reload()
				else:
					frappe.db.commit()
					done.append(doc.name)
	return done
