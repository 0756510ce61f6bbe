"""Speech costs are reserved before a recording is sent, settled by reported usage, and within limits."""

import base64
from unittest import mock

import frappe

from huf.ai.core.errors import UsageError
from huf.ai.providers import services
from huf.ai.providers.speech import read_speech_prices, speech_worst_case
from huf.api.conversation import transcribe
from huf.tests.base import SiteTestCase, enter
from huf.tests.factories import make_agent, make_model, make_tool, make_user
from huf.tests.model_server import ModelServer, error, slow, text

RECORDING = base64.b64encode(b"s" * 30_000).decode()
"""At most a minute, judged by its size."""


class TestPrices(SiteTestCase):
	def prices(self, name: str, **values):
		with ModelServer() as server:
			model = make_model(server, own_prices=0, **values)
		return read_speech_prices(model, name)

	def test_audio_prices_are_read_per_second_or_per_token(self):
		self.assertEqual(self.prices("whisper-1").max_second_price, 0.0001)
		by_tokens = self.prices("azure/gpt-4o-transcribe")
		self.assertIsNone(by_tokens.second)
		self.assertEqual((by_tokens.audio_token, by_tokens.text_token), (6e-06, 1e-05))
		self.assertAlmostEqual(by_tokens.max_second_price, 30 * 1e-05)

	def test_speech_models_missing_from_the_price_table_have_no_price(self):
		prices = self.prices("openai/nobody")
		self.assertIsNone(prices.max_second_price)
		self.assertFalse(speech_worst_case("nobody", "a.webm", 1000, prices).is_priced)

	def test_worst_case_duration_of_a_recording_follows_from_its_size(self):
		prices = self.prices("whisper-1")
		long = speech_worst_case("m", "a.webm", 80_000, prices).cost
		self.assertAlmostEqual(long, 0.0001 * 161)
		self.assertAlmostEqual(speech_worst_case("m", "a.WAV", 80_000, prices).cost, 0.0001 * 11)


class TestBudget(SiteTestCase):
	def setUp(self):
		super().setUp()
		self.server = enter(self, ModelServer())
		self.addCleanup(self.set_cost_limit, 0)
		self.user = make_user("Huf User")
		self.set_cost_limit(0.02)

	def set_cost_limit(self, amount: float) -> None:
		"""Set the USD that a user may spend per day."""
		frappe.set_user("Administrator")
		frappe.db.set_single_value("Huf Settings", "user_daily_cost_limit", amount)
		frappe.db.commit()

	def transcribe(self, **values) -> dict:
		"""Transcribe a recording as the user; a minute costs 0.6 cents."""
		frappe.set_user("Administrator")
		model = make_model(self.server, **{"minute_price": 0.006, **values})
		agent = make_agent(tools=[make_tool("Speech to Text", model=model)])
		frappe.set_user(self.user)
		return transcribe(agent, RECORDING, "audio/webm")

	def transcribe_and_charge(self, usage: dict | None) -> tuple[float, float]:
		"""(USD spent, USD reserved) after a recording with this reported usage."""
		self.server.script(text("Paint the fence.", usage=usage))
		self.assertEqual(self.transcribe(), {"text": "Paint the fence."})
		return frappe.db.get_value(
			"Agent Budget", {"holder": self.user, "scope": "user"}, ["cost", "reserved_cost"]
		)

	def test_reported_duration_is_charged_and_the_reservation_released(self):
		spent, reserved = self.transcribe_and_charge({"type": "duration", "seconds": 20})
		self.assertAlmostEqual(spent, 0.002)
		self.assertAlmostEqual(reserved, 0)

	def test_reported_tokens_are_charged_instead_of_duration(self):
		details = {"input_token_details": {"audio_tokens": 200, "text_tokens": 0}}
		used = {"type": "tokens", "input_tokens": 200, "output_tokens": 50, "total_tokens": 250, **details}
		self.assertAlmostEqual(self.transcribe_and_charge(used)[0], (200 * 1 + 50 * 2) / 1_000_000)

	def test_whole_reservation_is_charged_when_usage_is_missing(self):
		self.assertAlmostEqual(self.transcribe_and_charge(None)[0], 0.0061)

	def test_refused_recordings_cost_nothing_and_are_recorded_as_failed(self):
		self.server.script(error(401, "no"))
		with self.assertRaisesRegex(UsageError, "refused the API key"):
			self.transcribe()
		budget = {"holder": self.user, "scope": "user"}
		self.assertEqual(frappe.db.get_value("Agent Budget", budget, ["cost", "reserved_cost"]), (0, 0))
		self.assertEqual(frappe.db.get_value("Agent LLM Call", {"owner": self.user}, "status"), "Failed")

	def test_recordings_above_the_remaining_budget_are_not_sent(self):
		for _ in range(3):
			self.transcribe_and_charge(None)
		with self.assertRaisesRegex(UsageError, "leaves too little"):
			self.transcribe()
		self.assertEqual(len(self.server.paths), 3)

	def test_transcription_without_an_answer_is_given_up_after_the_time_out(self):
		frappe.db.set_single_value("Huf Settings", "model_timeout", 1)
		self.addCleanup(frappe.db.set_single_value, "Huf Settings", "model_timeout", 60)
		self.server.script(slow(30, text("Too late.")))
		with mock.patch.object(services, "WHOLE_ANSWER_TIMEOUT_S", 1):
			with self.assertRaisesRegex(UsageError, "sent nothing for too long"):
				self.transcribe()

	def test_speech_models_without_a_price_are_not_called_under_a_cost_limit(self):
		with self.assertRaisesRegex(UsageError, "is not known"):
			self.transcribe(own_prices=0)
		self.assertEqual(self.server.paths, [])
