"""Malicious conditions are saved and evaluated in bounded time."""

import time

from huf.tests.factories import unique
from huf.tests.security.clients import Client
from huf.tests.triggers import SECRET, WebhookTestCase, events_of

POWERS = ("9**9**9 > 1", "(lambda: 1)()", "'a' * 10**10 == doc.title", "-" * 4000 + "1")
LOOPS = (
	"[a for a in doc.text for b in doc.text for c in doc.text] == 1",
	"[int(a + b) for a in doc.text for b in doc.text] == 1",
	"doc.text.replace('x', doc.text).replace('x', doc.text).replace('x', doc.text) == 'x'",
)
MAX_SECONDS = 20
"""Far above the limit of an evaluation; without limits these take hours."""


class TestConditions(WebhookTestCase):
	def test_slow_constant_conditions_are_not_saved(self):
		manager = Client("Huf User", "Huf Manager")
		values = {"agent": self.agent, "trigger_type": "Doc Event", "reference_doctype": "ToDo"}
		for condition in POWERS:
			with self.subTest(condition[:40]):
				body = {
					**values,
					"trigger_name": unique("Slow"),
					"doc_event": "on_update",
					"condition": condition,
				}
				began = time.perf_counter()
				answer = manager.send("/api/resource/Agent Trigger", "POST", json=body)
				self.assertEqual(answer.status_code, 417, answer.text)
				self.assertLess(time.perf_counter() - began, MAX_SECONDS)

	def test_slow_conditions_on_a_payload_are_stopped(self):
		for condition in LOOPS:
			with self.subTest(condition):
				trigger = self.webhook(condition=condition)
				began = time.perf_counter()
				answer = self.deliver(trigger, {"text": "x" * 20_000}, X_Huf_Secret=SECRET)
				self.assertLess(answer.status_code, 500, answer.text)
				self.assertLess(time.perf_counter() - began, MAX_SECONDS)
				self.assertNotIn("Queued", [event.status for event in events_of(trigger)])
