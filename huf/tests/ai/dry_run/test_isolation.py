"""Nothing of what is only tried gets out; counted against the same change when it is made."""

import asyncio
import os
import socket
import subprocess
import tempfile
import urllib.request
from collections import Counter
from unittest.mock import patch

import frappe
from frappe import realtime
from frappe.utils.background_jobs import is_job_enqueued

from huf.ai.concurrency import driver
from huf.ai.concurrency.event_loops import run_coroutine
from huf.ai.core.errors import PreviewRefused
from huf.ai.dry_run import isolation
from huf.ai.dry_run.preview import apply, preview
from huf.ai.tools import document_tools as tools
from huf.tests.ai.dry_run.test_preview import PreviewTestCase
from huf.tests.crash.test_crash import set_up_mail
from huf.tests.doctypes import ORDER, controller, make_order
from huf.tests.factories import make, unique


class TestLeaks(PreviewTestCase):
	"""Each effect is there when the change is made, and not when it is only tried."""

	def setUp(self):
		super().setUp()
		set_up_mail()
		self.order, self.seen = make_order(), Counter()
		self.job = unique("job")

	def restless(self, doc):
		"""A controller that does everything a controller can."""
		frappe.enqueue("frappe.ping", job_id=f"{self.job} now")
		frappe.enqueue("frappe.ping", job_id=f"{self.job} later", enqueue_after_commit=True)
		frappe.sendmail(recipients=["anna@example.com"], subject=self.job, message="m", delayed=True)
		frappe.publish_realtime("huf_test", {"a": 1})
		frappe.publish_realtime("huf_test", {"a": 2}, after_commit=True)
		frappe.db.after_commit.add(lambda: self.seen.update(["after_commit"]))
		frappe.db.before_commit.add(lambda: self.seen.update(["before_commit"]))
		frappe.db.after_rollback.add(lambda: self.seen.update(["after_rollback"]))
		make("File", file_name=f"{self.job}.txt", content=self.job, is_private=1)

	def effects(self) -> dict:
		mail = "Email Queue" if frappe.db.exists("DocType", "Email Queue") else "Error Log"
		folder = frappe.get_site_path("private", "files")
		return {
			"jobs": sum(is_job_enqueued(f"{self.job} {when}") for when in ("now", "later")),
			"mails": frappe.db.count(mail, {"creation": [">", self.order.creation]}),
			"files": sum(name.startswith(self.job) for name in os.listdir(folder)),
			"commits": self.seen["after_commit"] + self.seen["before_commit"],
		}

	def test_a_coroutine_may_be_run_although_that_takes_a_thread(self):
		with patch.dict(driver.idle, {os.getpid(): []}), isolation.closed():
			self.assertEqual(run_coroutine(asyncio.sleep(0, "done")), "done")

	def test_nothing_gets_out(self):
		none = dict.fromkeys(("jobs", "mails", "files", "commits"), 0)
		with controller(ORDER, on_update=self.restless), Messages() as messages:
			seen = preview(self.change)
			frappe.db.commit()
			self.assertEqual((self.effects(), messages.sent), (none, []))
			# One home has a job of its own for mail.
			self.assertGreaterEqual(seen.kept["jobs"], 2)
			self.assertEqual(seen.kept["messages"], 1)
			# What is to undo it outside the database was told.
			self.assertEqual(self.seen["after_rollback"], 1)
			frappe.publish_realtime("huf_test", {"a": 3}, after_commit=True)
			frappe.db.commit()
			self.assertEqual(len(messages.sent), 1, "later messages go out, those of the preview do not")

	def test_the_same_effects_are_there_when_it_is_done(self):
		with controller(ORDER, on_update=self.restless), Messages() as messages:
			seen = self.look(self.change)
			apply(self.change, seen.digest)
			frappe.db.commit()
		effects = self.effects()
		self.assertTrue(all(effects.values()), effects)
		self.assertEqual(len(messages.sent), 2)

	def change(self):
		return tools.set_value(ORDER, self.order.name, "note", "changed")

	def test_what_is_cached_is_what_is_stored(self):
		frappe.get_cached_doc(ORDER, self.order.name)
		with controller(ORDER, on_change=lambda doc: frappe.get_cached_doc(ORDER, doc.name)):
			self.look(self.change)
		self.assertIsNone(frappe.get_cached_doc(ORDER, self.order.name).note)
		self.assertIsNone(frappe.get_cached_value(ORDER, self.order.name, "note"))

	def test_no_trigger_fires(self):
		before = frappe.db.count("Agent Trigger Event")
		self.look(self.change)
		self.assertEqual(frappe.db.count("Agent Trigger Event"), before)

	def test_what_happens_at_once_is_refused_by_name(self):
		refused = {
			"commits by itself": lambda doc: frappe.db.commit(),
			"rolls back by itself": lambda doc: frappe.db.rollback(),
			"ends the transaction": lambda doc: frappe.db.sql("commit"),
			"opens a connection": lambda doc: socket.create_connection(("127.0.0.1", 9)),
			"HTTP request|connection": lambda doc: urllib.request.urlopen("http://127.0.0.1:9/"),
			"starts a program": lambda doc: subprocess.run(["true"]),
			"writes the file": lambda doc: open(__file__, "a").close(),
			"changes the file": lambda doc: os.remove(self.stays.name),
		}
		self.stays = tempfile.NamedTemporaryFile()
		self.addCleanup(self.stays.close)
		for words, effect in refused.items():
			with self.subTest(words), controller(ORDER, on_update=effect):
				with self.assertRaisesRegex(PreviewRefused, f"Saving {ORDER} .*({words}).*test_isolation"):
					preview(self.change)
				frappe.db.rollback()
				self.assertIsNone(frappe.db.get_value(ORDER, self.order.name, "note"))

	def test_a_refusal_that_code_swallows_is_told_all_the_same(self):
		def on_update(doc):
			try:
				frappe.db.commit()
			except Exception:
				doc.db_set("note", "did not work")

		with (
			controller(ORDER, on_update=on_update),
			self.assertRaisesRegex(PreviewRefused, "commits by itself"),
		):
			preview(self.change)

	def test_savepoints_of_controllers_work_as_ever(self):
		def on_update(doc):
			frappe.db.savepoint("own")
			doc.db_set("status", "Paid")
			frappe.db.rollback(save_point="own")

		with controller(ORDER, on_update=on_update):
			change = self.single(self.change)
		self.assertEqual([each["fieldname"] for each in change["fields"]], ["note"])

	def test_a_new_file_of_any_kind_is_taken_away_again(self):
		folder = tempfile.mkdtemp()

		def on_update(doc):
			os.mkdir(os.path.join(folder, "sub"))
			with open(os.path.join(folder, "sub", "draft.txt"), "w") as file:
				file.write("x")
			os.replace(os.path.join(folder, "sub", "draft.txt"), os.path.join(folder, "final.txt"))

		with controller(ORDER, on_update=on_update):
			self.look(self.change)
		self.assertEqual(os.listdir(folder), [])
		os.rmdir(folder)

	def test_afterwards_everything_goes_out_again(self):
		self.look(self.change)
		own = set(vars(frappe.local.db)) & {"commit", "rollback", "sql", "set_value", "set_single_value"}
		self.assertEqual(own, set())
		frappe.enqueue("frappe.ping", job_id=f"{self.job} now")
		self.assertTrue(is_job_enqueued(f"{self.job} now"))
		subprocess.run(["true"], check=True)


class Messages:
	"""What realtime was handed at its last station in this process."""

	def __enter__(self):
		self.sent, self.original = [], realtime.emit_via_redis

		def note(event, message, room):
			# Below the gate would be Redis or the server; so the gate is asked the way it always is.
			if event == "huf_test":
				self.sent.append(message)

		realtime.emit_via_redis = note
		isolation.install()
		isolation.wrap(realtime, "emit_via_redis", lambda closed: isolation.keep(closed, "messages"))
		return self

	def __exit__(self, *_):
		realtime.emit_via_redis = self.original
