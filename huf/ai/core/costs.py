"""What a model call may cost, before it is made. Plain frozen data."""

from dataclasses import dataclass


@dataclass(frozen=True)
class WorstCase:
	"""The most one model call can use. Prices are USD per token; None: unknown.

	`besides`: USD for what is not counted in tokens.
	"""

	model: str = ""
	input_tokens: int = 0
	output_tokens: int = 0
	input_price: float | None = 0.0
	output_price: float | None = 0.0
	besides: float | None = 0.0

	@property
	def tokens(self) -> int:
		return self.input_tokens + self.output_tokens

	@property
	def is_priced(self) -> bool:
		return None not in (self.input_price, self.output_price, self.besides)

	@property
	def cost(self) -> float:
		"""USD; 0 where the price is unknown."""
		return self.asking + self.output_tokens * self.output_price if self.is_priced else 0.0

	@property
	def asking(self) -> float:
		"""USD without the answer; 0 where the price is unknown."""
		return self.input_tokens * (self.input_price or 0) + (self.besides or 0)


@dataclass(frozen=True)
class Grant:
	"""How long an answer may be; `short`: less than it might have been, because a budget has no more."""

	max_tokens: int
	short: bool = False
