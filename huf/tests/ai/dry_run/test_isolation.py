"""A dry run has no side effects, while the same change has all of them when it is made."""

import asyncio
import os
from collections import Counter

import aiohttp
import frappe
import httpx
import requests
import urllib3
from frappe import realtime
from frappe.utils.background_jobs import is_job_enqueued

from huf.ai.agents.function_tool import create_function_tool
from huf.ai.core.errors import PreviewRefused
from huf.ai.core.types import Effect
from huf.ai.dry_run import isolation
from huf.ai.dry_run.preview import apply_approved, preview_changes
from huf.ai.runs.approvals import propose
from huf.ai.tools import document_tools as tools
from huf.tests.ai.dry_run.test_preview import PreviewTestCase
from huf.tests.crash.test_crash import set_up_mail
from huf.tests.doctypes import ORDER, controller, make_order
from huf.tests.drafting import Shop
from huf.tests.factories import make, make_agent, make_trigger, unique


class TestLeaks(PreviewTestCase):
	"""Each side effect occurs when the change is made, and none occurs in a dry run."""

	def setUp(self):
		super().setUp()
		set_up_mail()
		self.order, self.hooks_run = make_order(), Counter()
		self.job = unique("job")

	def cause_all_effects(self, doc):
		"""A document event handler with every kind of side effect."""
		frappe.enqueue("frappe.ping", job_id=f"{self.job} now")
		frappe.enqueue("frappe.ping", job_id=f"{self.job} later", enqueue_after_commit=True)
		frappe.sendmail(recipients=["anna@example.com"], subject=self.job, message="m", delayed=True)
		frappe.publish_realtime("huf_test", {"a": 1})
		frappe.publish_realtime("huf_test", {"a": 2}, after_commit=True)
		frappe.db.after_commit.add(lambda: self.hooks_run.update(["after_commit"]))
		frappe.db.before_commit.add(lambda: self.hooks_run.update(["before_commit"]))
		frappe.db.after_rollback.add(lambda: self.hooks_run.update(["after_rollback"]))
		make("File", file_name=f"{self.job}.txt", content=self.job, is_private=1)

	def count_effects(self) -> dict:
		mail = "Email Queue" if frappe.db.exists("DocType", "Email Queue") else "Error Log"
		folder = frappe.get_site_path("private", "files")
		return {
			"jobs": sum(is_job_enqueued(f"{self.job} {when}") for when in ("now", "later")),
			"mails": frappe.db.count(mail, {"creation": [">", self.order.creation]}),
			"files": sum(name.startswith(self.job) for name in os.listdir(folder)),
			"commits": self.hooks_run["after_commit"] + self.hooks_run["before_commit"],
		}

	def test_a_dry_run_leaks_no_jobs_mails_files_messages_or_commit_hooks(self):
		no_effects = dict.fromkeys(("jobs", "mails", "files", "commits"), 0)
		with controller(ORDER, on_update=self.cause_all_effects), Messages() as messages:
			preview = preview_changes(self.change)
			frappe.db.commit()
			self.assertEqual((self.count_effects(), messages.sent), (no_effects, []))
			# One runtime queues another job for the mail.
			self.assertGreaterEqual(preview.suppressed["jobs"], 2)
			self.assertEqual(preview.suppressed["messages"], 1)
			# Rollback hooks run, so that changes outside the database can be undone.
			self.assertEqual(self.hooks_run["after_rollback"], 1)
			frappe.publish_realtime("huf_test", {"a": 3}, after_commit=True)
			frappe.db.commit()
			self.assertEqual(len(messages.sent), 1, "later messages are sent, those of the preview are not")

	def test_the_approved_change_has_all_side_effects(self):
		with controller(ORDER, on_update=self.cause_all_effects), Messages() as messages:
			preview = self.preview(self.change)
			apply_approved(self.change, preview.digest)
			frappe.db.commit()
		effects = self.count_effects()
		self.assertTrue(all(effects.values()), effects)
		self.assertEqual(len(messages.sent), 2)

	def change(self):
		return tools.set_value(ORDER, self.order.name, "note", "changed")

	def test_the_document_cache_holds_stored_values_after_a_dry_run(self):
		frappe.get_cached_doc(ORDER, self.order.name)
		with controller(ORDER, on_change=lambda doc: frappe.get_cached_doc(ORDER, doc.name)):
			self.preview(self.change)
		self.assertIsNone(frappe.get_cached_doc(ORDER, self.order.name).note)
		self.assertIsNone(frappe.get_cached_value(ORDER, self.order.name, "note"))

	def test_no_trigger_fires(self):
		trigger = make_trigger(make_agent(), reference_doctype=ORDER, run_as="Administrator")
		self.addCleanup(frappe.db.commit)
		self.addCleanup(frappe.delete_doc, "Agent Trigger", trigger.name, force=True)
		seen = self.preview(self.change)
		frappe.db.commit()
		events = {"trigger": trigger.name}
		self.assertEqual(frappe.db.count("Agent Trigger Event", events), 0)
		apply_approved(self.change, seen.digest)
		self.assertEqual(frappe.db.count("Agent Trigger Event", events), 1)

	def test_controllers_that_commit_or_roll_back_are_refused_with_the_reason(self):
		refused = {
			"commits by itself": lambda doc: frappe.db.commit(),
			"rolls back by itself": lambda doc: frappe.db.rollback(),
			"ends the transaction": lambda doc: frappe.db.sql("commit"),
		}
		for reason, effect in refused.items():
			with self.subTest(reason), controller(ORDER, on_update=effect):
				with self.assertRaisesRegex(PreviewRefused, f"Saving {ORDER} .*{reason}"):
					preview_changes(self.change)
				frappe.db.rollback()
				self.assertIsNone(frappe.db.get_value(ORDER, self.order.name, "note"))

	def test_a_refusal_is_raised_even_if_the_controller_catches_it(self):
		def on_update(doc):
			try:
				frappe.db.commit()
			except Exception:
				doc.db_set("note", "did not work")

		with (
			controller(ORDER, on_update=on_update),
			self.assertRaisesRegex(PreviewRefused, "commits by itself"),
		):
			preview_changes(self.change)

	def test_controllers_can_use_savepoints_in_a_dry_run(self):
		def on_update(doc):
			frappe.db.savepoint("own")
			doc.db_set("status", "Paid")
			frappe.db.rollback(save_point="own")

		with controller(ORDER, on_update=on_update):
			change = self.preview_one(self.change)
		self.assertEqual([each["fieldname"] for each in change["fields"]], ["note"])

	def test_a_dry_run_of_a_deletion_keeps_the_file_content(self):
		file = make("File", file_name=f"{self.job}.txt", content=self.job, is_private=1)
		frappe.db.commit()
		preview = self.preview(lambda: tools.delete_document("File", file.name))
		self.assertLessEqual(
			set(preview.suppressed), {"jobs", "messages", "mails"}
		)  # kinds that the page can name
		self.assertEqual(frappe.get_doc("File", file.name).get_content(), self.job)

	def test_enqueue_and_database_methods_are_restored_after_a_dry_run(self):
		self.preview(self.change)
		replaced = set(vars(frappe.local.db)) & {"commit", "rollback", "sql", "set_value", "set_single_value"}
		self.assertEqual(replaced, set())
		frappe.enqueue("frappe.ping", job_id=f"{self.job} now")
		self.assertTrue(is_job_enqueued(f"{self.job} now"))


class Messages:
	"""Records the realtime messages that reach the last function before Redis."""

	def __enter__(self):
		self.sent, self.original = [], realtime.emit_via_redis

		def send(event, message, room):
			if event == "huf_test":
				self.sent.append(message)

		realtime.emit_via_redis = send
		isolation.wrap_frappe()
		return self

	def __exit__(self, *_):
		realtime.emit_via_redis = self.original


class TestKeptConnections(PreviewTestCase):
	"""A tool that holds an open connection sends nothing while its approval is prepared."""

	def test_proposing_a_write_or_external_call_sends_nothing_on_open_connections(self):
		with Shop() as shop:
			for library, send in self.open_clients(shop.url).items():
				with self.subTest(library):
					send({})
					self.assertEqual(shop.bodies.pop(), {})

					def post(title: str, send=send) -> str:
						send({"title": title})
						return "sent"

					for effect in (Effect.WRITE, Effect.EXTERNAL):
						tool = create_function_tool("post", "Posts", {"type": "object"}, post, effect)
						proposal = propose(tool, {"title": "secret"})
						self.assertEqual(shop.bodies, [])
						self.assertEqual(proposal.preview["request"]["arguments"], {"title": "secret"})
						is_noted = "There is no preview" in proposal.preview["request"].get("note", "")
						self.assertEqual(is_noted, effect is Effect.WRITE)

	def open_clients(self, url: str) -> dict:
		"""Functions that post JSON, each on a connection that its library keeps open."""
		client, session, pool = httpx.Client(), requests.Session(), urllib3.PoolManager()
		loop = asyncio.new_event_loop()

		async def open_session() -> aiohttp.ClientSession:
			return aiohttp.ClientSession()

		aiohttp_session = loop.run_until_complete(open_session())
		self.addCleanup(client.close)
		self.addCleanup(session.close)
		self.addCleanup(loop.close)
		self.addCleanup(lambda: loop.run_until_complete(aiohttp_session.close()))

		async def post(body: dict) -> None:
			async with aiohttp_session.post(url, json=body) as response:
				await response.read()

		return {
			"httpx": lambda body: client.post(url, json=body),
			"requests": lambda body: session.post(url, json=body),
			"urllib3": lambda body: pool.request("POST", url, json=body),
			"aiohttp": lambda body: loop.run_until_complete(post(body)),
		}
