"""The cost of a model call before it is made, and the answer length that a budget allows."""

from dataclasses import dataclass


@dataclass(frozen=True)
class WorstCase:
	"""Upper bound of what one model call can use. Prices are USD per token; None: unknown.

	`extra_cost`: USD for what is not counted in tokens, such as seconds of audio.
	"""

	model: str = ""
	input_tokens: int = 0
	output_tokens: int = 0
	input_price: float | None = 0.0
	output_price: float | None = 0.0
	extra_cost: float | None = 0.0

	@property
	def tokens(self) -> int:
		return self.input_tokens + self.output_tokens

	@property
	def is_priced(self) -> bool:
		return None not in (self.input_price, self.output_price, self.extra_cost)

	@property
	def cost(self) -> float:
		"""USD; 0 if a price is unknown."""
		return self.input_cost + self.output_tokens * (self.output_price or 0) if self.is_priced else 0.0

	@property
	def input_cost(self) -> float:
		"""USD without the answer; an unknown price counts as 0."""
		return self.input_tokens * (self.input_price or 0) + (self.extra_cost or 0)


@dataclass(frozen=True)
class Grant:
	"""How long an answer may be; `short_by`: the limit that makes it shorter than asked for, in words."""

	max_tokens: int
	short_by: str = ""
