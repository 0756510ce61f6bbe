"""What a model call may cost, before it is made. Plain frozen data."""

from dataclasses import dataclass


@dataclass(frozen=True)
class WorstCase:
	"""The most one model call can use. Prices are USD per token; None: unknown."""

	model: str = ""
	input_tokens: int = 0
	output_tokens: int = 0
	input_price: float | None = 0.0
	output_price: float | None = 0.0

	@property
	def tokens(self) -> int:
		return self.input_tokens + self.output_tokens

	@property
	def is_priced(self) -> bool:
		return self.input_price is not None and self.output_price is not None

	@property
	def cost(self) -> float:
		"""USD; 0 where the price is unknown."""
		if not self.is_priced:
			return 0.0
		return self.input_tokens * self.input_price + self.output_tokens * self.output_price


@dataclass(frozen=True)
class Grant:
	"""How long an answer may be; `short`: less than it might have been, because a budget has no more."""

	max_tokens: int
	short: bool = False
