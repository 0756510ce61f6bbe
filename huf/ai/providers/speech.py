"""Prices of speech transcription. Most models charge by the second, some by audio and text tokens."""

from dataclasses import dataclass
from typing import Any

from huf.ai.core.costs import WorstCase
from huf.ai.core.settings import find_cached
from huf.ai.core.types import Usage
from huf.ai.providers.models import listed, prices_of

MIN_BYTES_PER_SECOND, MIN_WAV_BYTES_PER_SECOND = 500, 8_000
"""Lower bounds, compressed and uncompressed, to estimate the length of a recording by its size."""
MAX_TOKENS_PER_SECOND = 30
"""An upper bound for audio and text tokens together over all models."""


@dataclass(frozen=True)
class SpeechPrices:
	"""Prices in USD; None if unknown. A model may have prices per second and per token; its provider reports
	the usage of one kind.
	"""

	second: float | None
	audio_token: float | None
	text_token: float | None

	@property
	def max_second_price(self) -> float | None:
		if self.second is not None or self.audio_token is None or self.text_token is None:
			return self.second
		return MAX_TOKENS_PER_SECOND * max(self.audio_token, self.text_token)

	def usage_of(self, reported: Any) -> Usage | None:
		"""The Usage that a provider reports, or None."""
		if getattr(reported, "seconds", None) is not None:
			second = self.max_second_price
			return Usage(cost=None if second is None else second * reported.seconds)
		if getattr(reported, "input_tokens", None) is None:
			return None
		input_tokens, output_tokens = reported.input_tokens, reported.output_tokens or 0
		if self.audio_token is None or self.text_token is None:
			return Usage(input_tokens, output_tokens, cost=None)
		cost = input_tokens * self.audio_token + output_tokens * self.text_token
		return Usage(input_tokens, output_tokens, cost=cost)


def read_speech_prices(model: str, name: str) -> SpeechPrices:
	"""Prices of an AI Model: its own, else those of `name` in LiteLLM's table."""
	row = find_cached("AI Model", model)
	tokens = prices_of(model, name)
	is_priced_here = row.own_prices or find_cached("AI Provider", row.provider).is_local
	table = {} if is_priced_here else listed(name)
	seconds = [table.get(f"{way}_cost_per_second") for way in ("input", "output")]
	second = max((each for each in seconds if each is not None), default=None)
	if row.own_prices and row.minute_price:
		second = row.minute_price / 60
	if tokens is None:
		return SpeechPrices(second, None, None)
	audio_token = max(tokens.input, table.get("input_cost_per_audio_token") or 0)
	return SpeechPrices(second, audio_token, tokens.output)


def speech_worst_case(model: str, file_name: str, size: int, prices: SpeechPrices) -> WorstCase:
	"""The most that transcribing a file of `size` bytes can cost."""
	seconds = (
		size / (MIN_WAV_BYTES_PER_SECOND if file_name.lower().endswith(".wav") else MIN_BYTES_PER_SECOND) + 1
	)
	price = prices.max_second_price
	return WorstCase(model, extra_cost=None if price is None else price * seconds)
