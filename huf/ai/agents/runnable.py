"""What a run needs of an agent. `sdk.py` converts it to the Agents SDK, whose import costs 70 MB."""

from dataclasses import dataclass, field, replace
from typing import Any


@dataclass(frozen=True)
class ModelSettings:
	"""Options of the model; None leaves one to the provider."""

	temperature: float | None = None
	top_p: float | None = None
	max_tokens: int | None = None


@dataclass(frozen=True)
class RunnableAgent:
	"""The attributes of an SDK agent that runs use, under the same names. `tools` are EffectTools."""

	name: str
	instructions: str
	model: str
	tools: list[Any] = field(default_factory=list)
	model_settings: ModelSettings = field(default_factory=ModelSettings)

	def clone(self, **changes: Any) -> "RunnableAgent":
		return replace(self, **changes)
