"""Repeated, changed and expired webhook deliveries start no further run."""

import base64
import hashlib
import hmac
import time

from huf.ai.triggers.webhooks import MAX_AGE_S
from huf.tests.triggers import SECRET, WebhookTestCase, events_of


class TestWebhookSignatures(WebhookTestCase):
	def sign(self, body: bytes, sent_id: str = "1", age: int = 0, key: bytes = SECRET.encode()) -> dict:
		sent_at = str(int(time.time()) - age)
		content = f"{sent_id}.{sent_at}.".encode() + body
		digest = hmac.new(key, content, hashlib.sha256)
		return {"X_Huf_Delivery": sent_id, "X_Huf_Timestamp": sent_at, "X_Huf_Signature": digest.hexdigest()}

	def test_signatures_cover_id_and_timestamp_and_expire(self):
		trigger, body = self.webhook(), b'{"action": "opened"}'
		headers = self.sign(body)
		first = self.deliver(trigger, body, **headers)
		self.assertEqual((first.status_code, first.json["repeated"]), (202, False))
		self.assertTrue(self.deliver(trigger, body, **headers).json["repeated"])
		now = str(int(time.time()))
		for changed in (
			{"X_Huf_Delivery": "2"},
			{"X_Huf_Delivery": ""},
			{"X_Huf_Timestamp": str(int(now) + 1)},
			{"X_Huf_Timestamp": "x"},
			self.sign(body, age=MAX_AGE_S + 5),
			self.sign(body, age=-MAX_AGE_S - 5),
			self.sign(body, sent_id=""),
			{"X_Huf_Signature": hmac.new(SECRET.encode(), body, hashlib.sha256).hexdigest()},
			{"X_Huf_Signature": "wrong", "X_Huf_Secret": SECRET},
		):
			with self.subTest(changed):
				self.assertEqual(self.deliver(trigger, body, **{**headers, **changed}).status_code, 403)
		self.assertEqual(len(events_of(trigger)), 1)

	def test_secret_that_is_not_base64_is_used_as_it_is(self):
		secret, body = "whsec_der Schlüssel des Tests", b"{}"
		trigger = self.trigger("Webhook", run_as=self.user, webhook_secret=secret)
		signed = self.sign(body, "msg_1", key=secret.encode())
		self.assertEqual(self.deliver(trigger, body, **signed).status_code, 202)

	def test_standard_webhooks_signatures_are_accepted(self):
		key = b"a key of twenty-four byt"
		secret = "whsec_" + base64.b64encode(key).decode()
		trigger = self.trigger("Webhook", run_as=self.user, webhook_secret=secret)
		body = b'{"type": "invoice.paid"}'
		signed = self.sign(body, "msg_1", key=key)
		digest = base64.b64encode(bytes.fromhex(signed["X_Huf_Signature"])).decode()
		headers = {"Webhook_Id": "msg_1", "Webhook_Timestamp": signed["X_Huf_Timestamp"]}
		answer = self.deliver(trigger, body, Webhook_Signature=f"v1,AAAA v1,{digest}", **headers)
		self.assertEqual(answer.status_code, 202)
		answer = self.deliver(trigger, body, Webhook_Signature="v1,AAAA", **headers)
		self.assertEqual(answer.status_code, 403)
