"""Decides by the site's records which models read placeholders instead of personal data."""

from functools import cached_property
from typing import Any

from huf.ai.core.settings import find_cached, get_settings
from huf.ai.loop.model import Model
from huf.ai.providers.masking import MaskedModel, Masker
from huf.ai.providers.personal_patterns import read_patterns
from huf.ai.providers.personal_records import get_record_values


class MaskedModels:
	"""The models of one run, which share placeholders."""

	def __init__(self, agent_name: str | None):
		self.agent = find_cached("Agent", agent_name)

	def mask(self, model: Model) -> Model:
		"""The model, wrapped in a MaskedModel if the agent masks personal data."""
		return MaskedModel(model, self.masker) if masks_for(self.agent, model.is_local) else model

	@cached_property
	def masker(self) -> Masker:
		return make_masker()


def masks_for(agent: Any, is_local: bool) -> bool:
	"""Whether personal data is masked for this Agent and this model."""
	return bool(
		agent and agent.mask_personal_data and not (is_local and not get_settings().mask_for_local_models)
	)


def make_masker() -> Masker:
	return Masker(read_patterns(get_settings().mask_patterns), get_record_values())
