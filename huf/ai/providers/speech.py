"""What it costs to have speech written down. Most models are paid by the second, some by tokens of sound and of text."""

from dataclasses import dataclass
from typing import Any

from huf.ai.core.costs import WorstCase
from huf.ai.core.settings import find_cached
from huf.ai.core.types import Usage
from huf.ai.providers.litellm import listed, prices_of

BYTES_A_SECOND, OF_WAVES = 500, 8_000
"""The fewest that a second of speech takes up, compressed and not: nobody knows before how long a sound is."""
TOKENS_A_SECOND = 30
"""More than models make of a second, of its sound and its words together."""


@dataclass(frozen=True)
class SoundPrices:
	"""USD; None: unknown. A model may have both, and its provider says which counts."""

	second: float | None
	sound_token: float | None
	word_token: float | None

	@property
	def dearest_second(self) -> float | None:
		if self.second is not None or self.sound_token is None:
			return self.second
		return TOKENS_A_SECOND * max(self.sound_token, self.word_token)

	def usage_of(self, said: Any) -> Usage | None:
		"""What a provider says was used; None: it does not say."""
		if getattr(said, "seconds", None) is not None:
			second = self.dearest_second
			return Usage(cost=None if second is None else second * said.seconds)
		if getattr(said, "input_tokens", None) is None:
			return None
		heard, written = said.input_tokens, said.output_tokens or 0
		known = self.sound_token is not None
		return Usage(
			heard, written, cost=heard * self.sound_token + written * self.word_token if known else None
		)


def sound_prices(model: str, name: str) -> SoundPrices:
	"""The site's own prices of an AI Model, else those of `name` in LiteLLM's table."""
	row = find_cached("AI Model", model)
	tokens = prices_of(model, name)
	said_here = row.own_prices or find_cached("AI Provider", row.provider).is_local
	table = {} if said_here else listed(name)
	seconds = [table.get(f"{way}_cost_per_second") for way in ("input", "output")]
	second = max((each for each in seconds if each is not None), default=None)
	if row.own_prices and row.minute_price:
		second = row.minute_price / 60
	sound = tokens and max(tokens.input, table.get("input_cost_per_audio_token") or 0)
	return SoundPrices(second, sound, tokens and tokens.output)


def worst_of_sound(model: str, file_name: str, size: int, prices: SoundPrices) -> WorstCase:
	"""The most that a sound of so many bytes can cost."""
	seconds = size / (OF_WAVES if file_name.lower().endswith(".wav") else BYTES_A_SECOND) + 1
	price = prices.dearest_second
	return WorstCase(model, extra_cost=None if price is None else price * seconds)
