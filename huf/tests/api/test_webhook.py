"""Webhooks over HTTP: authentication, the runs that deliveries start, and deduplication."""

import base64
import hashlib
import hmac
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from threading import Barrier, BrokenBarrierError
from unittest.mock import patch

import frappe

from huf.ai.storage import trigger_events
from huf.ai.triggers.webhooks import MAX_DELIVERY_BYTES
from huf.tests.factories import make_agent
from huf.tests.http import post, send
from huf.tests.triggers import RECEIVE, SECRET, WebhookTestCase, events_of, runs_of, work_off


class TestWebhook(WebhookTestCase):
	def test_a_delivery_sets_off_one_run_as_the_chosen_user(self):
		trigger = self.webhook()
		answer = self.deliver(trigger, {"order": "SO-7"}, X_Huf_Secret=SECRET)
		self.assertEqual((answer.status_code, answer.json["status"]), (202, "Queued"))
		(run,) = work_off(trigger)
		self.assertEqual((run.status, run.run_as), ("Success", self.user))
		self.assertIn('"order": "SO-7"', run.prompt)
		self.assertEqual(frappe.db.get_value("Agent Conversation", run.conversation, "channel"), "webhook")

	def test_a_repeated_delivery_id_returns_the_first_run(self):
		trigger = self.webhook()
		for header in ("X-Huf-Delivery", "X-GitHub-Delivery", "Idempotency-Key"):
			with self.subTest(header):
				headers = {header: f"one of {header}", "X-Huf-Secret": SECRET}
				first = self.deliver(trigger, **headers)
				work_off(trigger)
				again = self.deliver(trigger, **headers)
				self.assertEqual((again.json["event"], again.json["repeated"]), (first.json["event"], True))
				self.assertEqual(again.json["run"], runs_of(trigger)[-1].name)
		self.assertEqual(len(runs_of(trigger)), 3)

	def test_each_delivery_starts_a_conversation(self):
		for per_user in (0, 1):
			trigger = self.webhook(agent=make_agent(persist_user_history=per_user))
			for order in ("SO-1", "SO-2"):
				self.deliver(trigger, {"order": order}, X_Huf_Secret=SECRET)
			self.assertEqual(len({run.conversation for run in work_off(trigger)}), 2, per_user)

	def test_deliveries_with_the_same_conversation_key_continue_one_conversation(self):
		trigger = self.webhook(conversation_key="{{ payload.ticket }}")
		tickets = ["T-1", "T-2", "T-1", None, None, "x" * 500]
		for ticket in tickets:
			self.deliver(trigger, {"ticket": ticket}, X_Huf_Secret=SECRET)
			work_off(trigger)
		first, second, third, *others = [run.conversation for run in runs_of(trigger)]
		self.assertEqual(first, third)
		self.assertEqual(len({first, second, *others}), 5)
		other = self.webhook(conversation_key="{{ payload.ticket }}")
		self.deliver(other, {"ticket": "T-1"}, X_Huf_Secret=SECRET)
		self.assertNotEqual(work_off(other)[0].conversation, first, "another trigger's key")

	def test_a_conversation_key_that_cannot_be_rendered_fails_the_event(self):
		trigger = self.webhook(conversation_key="{{ payload.ticket.id }}")
		answer = self.deliver(trigger, {"order": "SO-1"}, X_Huf_Secret=SECRET)
		self.assertEqual(answer.json["status"], "Failed")
		self.assertIn("cannot be rendered", answer.json["reason"])
		with self.assertRaisesRegex(frappe.ValidationError, "not a Jinja template"):
			self.webhook(conversation_key="{{ payload.")

	def test_concurrent_deliveries_with_the_same_id_start_one_run(self):
		trigger = self.webhook()
		self.deliver(trigger, X_Huf_Secret="wrong")  # prepares the application for requests in threads
		read, together = trigger_events.read_trigger_event, Barrier(4)

		def read_at_once(name):
			found = read(name)
			with suppress(BrokenBarrierError):
				together.wait(1)
			return found

		with ThreadPoolExecutor(4) as pool, patch.object(trigger_events, "read_trigger_event", read_at_once):
			deliver = lambda _: self.deliver_in_thread(trigger)  # noqa: E731
			answers = list(pool.map(deliver, range(4)))
		frappe.db.rollback()
		self.assertEqual(len({answer["event"] for answer in answers}), 1)
		self.assertEqual(sorted(answer["repeated"] for answer in answers), [False, True, True, True])
		self.assertEqual(len(work_off(trigger)), 1)

	def deliver_in_thread(self, trigger) -> dict:
		from werkzeug.test import Client

		headers = {"X-Huf-Secret": SECRET, "X-Huf-Delivery": "the same"}
		client = Client(frappe.app.application)
		return client.post(RECEIVE + trigger.webhook_slug, json={}, headers=headers).json

	def test_deliveries_without_an_id_are_separate_events(self):
		trigger = self.webhook()
		for _ in range(2):
			self.deliver(trigger, X_Huf_Secret=SECRET)
		self.assertEqual(len(events_of(trigger)), 2)

	def test_a_valid_body_signature_is_accepted_and_a_changed_body_refused(self):
		own = self.webhook(signature_header="X-Hub-Signature-256")
		body = b'{"action": "opened"}'
		digest = hmac.new(SECRET.encode(), body, hashlib.sha256)
		in_base64 = base64.b64encode(digest.digest()).decode()
		for signature in (f"sha256={digest.hexdigest()}", digest.hexdigest(), in_base64):
			answer = self.deliver(own, body, X_Hub_Signature_256=signature, X_GitHub_Delivery=signature)
			self.assertEqual(answer.status_code, 202)
			self.assertEqual(self.deliver(own, body + b" ", X_Hub_Signature_256=signature).status_code, 403)
		self.assertEqual(self.deliver(own, body, X_Huf_Secret=SECRET).status_code, 403, "only signed ones")
		self.assertEqual(len(events_of(own)), 1, "an id that is not signed makes no new delivery")

	def test_fields_of_a_signed_form_are_available_to_conditions(self):
		trigger = self.webhook(signature_header="X-Signature", condition="doc.Status == 'no answer'")
		body = b"To=%2B491234&Status=no+answer"
		for path in (RECEIVE, "/agent/hook/"):
			for sent, status in ((body, 202), (body + b"&Status=busy", 403)):
				with self.subTest(path=path, status=status):
					answer = post(
						path + trigger.webhook_slug,
						data=sent,
						content_type="application/x-www-form-urlencoded",
						headers={"X-Signature": hmac.new(SECRET.encode(), body, hashlib.sha256).hexdigest()},
					)
					self.assertEqual(answer.status_code, status)
		self.assertEqual([event.status for event in events_of(trigger)], ["Queued"])

	def test_the_media_type_of_a_delivery_is_known_in_any_case(self):
		trigger = self.webhook(condition="doc.status == 'busy'")
		for sent, body, status in (
			("Application/X-WWW-Form-Urlencoded", b"status=busy", 202),
			("Application/JSON", b"{status", 400),
		):
			answer = post(
				RECEIVE + trigger.webhook_slug,
				data=body,
				content_type=sent,
				headers={"X-Huf-Secret": SECRET},
			)
			self.assertEqual(answer.status_code, status, sent)
		self.assertEqual([event.status for event in events_of(trigger)], ["Queued"])

	def test_a_wrong_secret_and_an_unknown_webhook_get_the_same_response(self):
		trigger = self.webhook()
		answers = [
			self.deliver(trigger),
			self.deliver(trigger, X_Huf_Secret="wrong"),
			self.deliver(trigger, X_Huf_Secret=""),
			self.deliver(trigger, X_Huf_Signature="sha256=é"),
			self.deliver(frappe._dict(webhook_slug="there-is-none"), X_Huf_Secret=SECRET),
			self.deliver(frappe._dict(webhook_slug=""), X_Huf_Secret=SECRET),
		]
		self.assertEqual({answer.status_code for answer in answers}, {403})
		self.assertEqual(len({answer.get_data() for answer in answers}), 1)
		self.assertEqual(events_of(trigger), [])

	def test_a_user_and_password_that_the_sender_adds_are_ignored(self):
		trigger = self.webhook()
		for path in (RECEIVE, "/agent/hook/"):
			for sent in ("Basic eDp5", "Bearer x", "token a:b"):
				with self.subTest(path, sent=sent):
					options = {"path": path, "Authorization": sent}
					self.assertEqual(self.deliver(trigger, X_Huf_Secret=SECRET, **options).status_code, 202)
					self.assertEqual(self.deliver(trigger, X_Huf_Secret="wrong", **options).status_code, 403)

	def test_a_webhook_without_a_stored_secret_refuses_all_deliveries(self):
		trigger = self.webhook()
		frappe.db.sql("delete from `__Auth` where doctype = 'Agent Trigger' and name = %s", (trigger.name,))
		for secret in ("", SECRET, "*" * len(SECRET)):
			self.assertEqual(self.deliver(trigger, X_Huf_Secret=secret).status_code, 403)

	def test_a_disabled_webhook_is_reported_only_with_the_right_secret(self):
		trigger = self.webhook(disabled=1)
		self.assertEqual(self.deliver(trigger, X_Huf_Secret="wrong").status_code, 403)
		answer = self.deliver(trigger, X_Huf_Secret=SECRET)
		self.assertEqual(answer.status_code, 409)
		self.assertIn("This webhook is disabled. Enable its trigger", answer.json["error"])

	def test_a_body_above_the_size_limit_is_refused_with_413(self):
		answer = self.deliver(self.webhook(), {"order": "x" * MAX_DELIVERY_BYTES}, X_Huf_Secret=SECRET)
		self.assertEqual(answer.status_code, 413)

	def test_a_field_named_cmd_is_delivered_not_run(self):
		for path in (RECEIVE, "/agent/hook/"):
			trigger = self.webhook()
			answer = self.deliver(trigger, {"cmd": "frappe.ping"}, path=path, X_Huf_Secret=SECRET)
			self.assertEqual(answer.status_code, 202, answer.get_data(as_text=True)[:300])
			(run,) = work_off(trigger)
			self.assertIn('"cmd": "frappe.ping"', run.prompt)

	def test_the_short_webhook_url_accepts_deliveries(self):
		trigger = self.webhook()
		answer = self.deliver(trigger, path="/agent/hook/", X_Huf_Secret=SECRET)
		self.assertEqual((answer.status_code, answer.json["status"]), (202, "Queued"))
		self.assertEqual(self.deliver(trigger, path="/agent/hook/").status_code, 403)
		self.assertEqual(send(f"/agent/hook/{trigger.webhook_slug}", method="GET").status_code, 405)
		self.assertEqual(len(events_of(trigger)), 1)

	def test_get_requests_to_a_webhook_are_refused(self):
		answer = send(RECEIVE + self.webhook().webhook_slug, method="GET", headers={"X-Huf-Secret": SECRET})
		self.assertEqual(answer.status_code, 403)

	def test_conditions_read_the_payload_and_the_response_has_the_outcome(self):
		trigger = self.webhook(condition="doc.action == 'opened' and doc.issue.labels[0].name == 'bug'")
		body = {"action": "opened", "issue": {"labels": [{"name": "wish"}]}}
		answer = self.deliver(trigger, body, X_Huf_Secret=SECRET)
		self.assertEqual(answer.json["status"], "Skipped")
		self.assertIn("Condition not met", answer.json["reason"])
		body["issue"]["labels"][0]["name"] = "bug"
		self.assertEqual(self.deliver(trigger, body, X_Huf_Secret=SECRET).json["status"], "Queued")

	def test_a_body_need_not_be_json(self):
		trigger = self.webhook(prompt="It says: {{ payload }}")
		headers = {"X-Huf-Secret": SECRET}
		post(
			RECEIVE + trigger.webhook_slug,
			data="Hello <b>you</b>",
			content_type="text/plain",
			headers=headers,
		)
		self.assertEqual(events_of(trigger)[0].prompt, "It says: Hello <b>you</b>")
