"""Models by tier, from small to large, for agents that choose a model by task."""

from dataclasses import dataclass

from huf.ai.core.settings import Settings

CLOUD_TIER = 3


@dataclass
class ModelTiers:
	"""The configured AI Model of each tier, and the `tier` that the task needs."""

	models: dict[int, str]
	tier: int

	@classmethod
	def of(cls, settings: Settings, tier: int | None) -> "ModelTiers | None":
		"""None without a chosen tier or a configured model."""
		models = {place: name for place, name in enumerate(settings.tier_models, 1) if name}
		return cls(models, tier) if tier and models else None

	def first(self) -> str:
		"""The smallest model that is large enough, else the largest. Cloud models only if the task may leave
		the site.
		"""
		tiers = sorted(tier for tier in self.models if tier < CLOUD_TIER or self.tier == CLOUD_TIER) or [
			CLOUD_TIER
		]
		self.tier = next((tier for tier in tiers if tier >= self.tier), tiers[-1])
		return self.models[self.tier]

	def next(self, down: bool) -> str | None:
		"""The next larger model. Cloud models only if the local ones are `down`."""
		above = [tier for tier in sorted(self.models) if tier > self.tier and (tier < CLOUD_TIER or down)]
		if not above:
			return None
		self.tier = above[0]
		return self.models[self.tier]
