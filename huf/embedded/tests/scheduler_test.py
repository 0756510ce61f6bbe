"""The scheduler enqueues each event once per scheduled time."""

import datetime
from concurrent.futures import ThreadPoolExecutor

import frappe
from frappe.utils import jobs_db
from frappe.utils.scheduler import Scheduler, enqueue_events, get_events

from huf.embedded.site import SITE
from huf.embedded.tests.sites import SiteTestCase, isolated

EVENTS = [("huf.embedded.tests.samples.see", "*/5 * * * *", "default")]
METHOD = EVENTS[0][0]
NOON = datetime.datetime(2026, 3, 1, 12, 0)


def minutes_after_noon(number):
	return NOON + datetime.timedelta(minutes=number)


class TestScheduler(SiteTestCase):
	def setUp(self):
		super().setUp()
		for table in ("job", "schedule"):
			jobs_db.connect().execute(f"DELETE FROM {table}")

	def test_new_event_waits_for_its_next_scheduled_time(self):
		self.assertEqual(enqueue_events(NOON, EVENTS), [])
		self.assertEqual(enqueue_events(minutes_after_noon(4), EVENTS), [])
		self.assertEqual(enqueue_events(minutes_after_noon(5), EVENTS), [METHOD])

	def test_events_fire_beside_one_whose_cron_expression_is_unreadable(self):
		events = [
			("an_app.job", cron, "default") for cron in ("nightly", "* * * *", "0 0 31 2 *", None)
		] + EVENTS
		enqueue_events(NOON, events)
		self.assertEqual(enqueue_events(minutes_after_noon(5), events), [METHOD])

	def test_event_fires_once_per_scheduled_time(self):
		enqueue_events(NOON, EVENTS)
		self.assertEqual(enqueue_events(minutes_after_noon(5), EVENTS), [METHOD])
		self.assertEqual(enqueue_events(minutes_after_noon(6), EVENTS), [])
		self.assertEqual(enqueue_events(minutes_after_noon(10), EVENTS), [METHOD])

	def test_missed_scheduled_times_fire_once(self):
		enqueue_events(NOON, EVENTS)
		self.assertEqual(enqueue_events(minutes_after_noon(600), EVENTS), [METHOD])
		self.assertEqual(enqueue_events(minutes_after_noon(601), EVENTS), [])

	def test_repeated_hour_of_dst_fires_a_daily_event_once_and_others_twice(self):
		often, daily = f"{METHOD} */20 * * * *", f"{METHOD} 30 2 * * *"
		events = [(METHOD, "*/20 * * * *", "default"), (METHOD, "30 2 * * *", "default")]
		begin = datetime.datetime(2026, 10, 25, 1, 59)
		clock = [begin + datetime.timedelta(minutes=number) for number in (*range(61), *range(1, 63))]
		runs = {often: [], daily: []}
		for now in clock:
			for event in events:
				if enqueue_events(now.replace(microsecond=now.minute), [event]):
					runs[f"{event[0]} {event[1]}"].append(now.strftime("%H:%M"))
		self.assertEqual(runs[daily], ["02:30"])
		self.assertEqual(runs[often], ["02:00", "02:20", "02:40", "02:00", "02:20", "02:40", "03:00"])

	def test_due_event_enqueues_no_second_job_while_the_first_is_queued(self):
		enqueue_events(NOON, EVENTS)
		enqueue_events(minutes_after_noon(5), EVENTS)
		enqueue_events(minutes_after_noon(10), EVENTS)
		rows = jobs_db.connect().execute("SELECT method, user FROM job")
		self.assertEqual([tuple(row) for row in rows], [(METHOD, "Administrator")])

	def test_concurrent_schedulers_fire_an_event_once(self):
		enqueue_events(NOON, EVENTS)

		def tick(_):
			def on_site():
				frappe.init(SITE, sites_path=self.sites_path, force=True)
				frappe.connect()
				fired = enqueue_events(minutes_after_noon(5), EVENTS)
				frappe.destroy()
				return fired

			return isolated(on_site)

		with ThreadPoolExecutor(8) as pool:
			fired = [method for methods in pool.map(tick, range(8)) for method in methods]
		self.assertEqual(fired, [METHOD])

	def test_scheduler_tick_registers_the_events_of_the_hooks(self):
		fired = isolated(Scheduler(SITE, self.sites_path).tick, datetime.datetime(2030, 1, 1))
		self.assertEqual(fired, [])
		registered = jobs_db.connect().execute("SELECT count(*) FROM schedule")[0][0]
		self.assertEqual(registered, len({(method, cron) for method, cron, _queue in get_events()}))
