"""Makes an Agent record runnable: its model, its tools, its settings."""

import time
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any

import frappe
from frappe.utils import now_datetime

from huf.ai.agents.function_tool import EffectTool
from huf.ai.agents.runnable import ModelSettings, RunnableAgent
from huf.ai.agents.tool_factory import create_agent_tools
from huf.ai.agents.tool_handlers import RunChild
from huf.ai.core.settings import Settings, get_settings
from huf.ai.core.types import Mode
from huf.ai.loop.guards import NUDGE, Deadline, Guard, Stall, StepCap, ToolFailures
from huf.ai.providers.models import choose_model

CLOUD_TIER = 3


@dataclass
class ModelTiers:
	"""The configured AI Model of each tier, and the `tier` that the task needs."""

	models: dict[int, str]
	tier: int

	@classmethod
	def of(cls, settings: Settings, tier: int) -> "ModelTiers | None":
		"""None without a configured model."""
		models = {place: name for place, name in enumerate(settings.tier_models, 1) if name}
		return cls(models, tier) if models else None

	def first(self) -> str:
		"""The smallest model that is large enough, else the largest. Cloud models only if the task may leave
		the site, or no other tier has a model.
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


@dataclass(frozen=True)
class Recipe:
	"""What an agent is built from, as a cache key: its instructions, saved versions of its documents, the
	user and their roles.
	"""

	versions: tuple
	user: tuple
	settings: Settings
	model: str
	doc: Any = field(compare=False)


class AgentManager:
	"""Prepares an agent for a run: its record, its model, its tools."""

	def __init__(
		self,
		agent_name: str,
		provider: str | None = None,
		model: str | None = None,
		tier: int | None = None,
		mode: Mode = Mode.INLINE,
		is_chat: bool = False,
	):
		self.agent_doc = frappe.get_cached_doc("Agent", agent_name)
		self.settings, self.mode, self.is_chat = get_settings(), mode, is_chat
		self.tiers = ModelTiers.of(self.settings, tier) if tier else None
		if self.tiers and not model:
			model = self.tiers.first()
		self.provider, self.model = choose_model(self.agent_doc, provider, model)

	@property
	def instructions(self) -> str:
		"""What a model cannot know, the site's date, and the record's instructions."""
		# Small models repeat a date that stands last or in a sentence.
		date = f"Current date: {now_datetime():%A, %Y-%m-%d}"
		return f"{date}\n\n{self.agent_doc.instructions or ''}".strip()

	@property
	def tools(self) -> list[EffectTool]:
		"""The tools of the record that this user may use."""
		return self.prepare_agent().tools

	def create_agent(self, run_child: RunChild | None = None):
		"""What `prepare_agent` returns, as an `agents.Agent`."""
		from huf.ai.agents.sdk import to_sdk_agent

		return to_sdk_agent(self.prepare_agent(run_child))

	def prepare_agent(self, run_child: RunChild | None = None) -> RunnableAgent:
		"""The agent with the record's instructions, tools and model settings.

		It is cached and shared between runs: change a clone. A run that is only a chat has no tools.
		"""
		doc = self.agent_doc
		rows = tuple(frappe.get_cached_doc("Agent Tool Function", slot.tool) for slot in doc.agent_tool)
		# An eval may hold changed instructions of the same saved version, and a tool's definition follows its
		# DocType without a new one.
		saved = ((row.name, row.modified, row.get("function_definition")) for row in (doc, *rows))
		versions = (doc.instructions, *saved)
		user = (frappe.local.site, frappe.session.user, *frappe.get_roles())
		agent = build_agent(Recipe(versions, user, self.settings, self.model, doc), run_child)
		return agent.clone(tools=[]) if self.is_chat else agent

	@cached_property
	def steps(self) -> int:
		"""How many steps a run may take; with a model chosen by task, a background run may take more."""
		if not self.agent_doc.choose_by_task:
			return self.agent_doc.max_iterations or self.settings.max_steps
		return self.settings.inline_steps if self.mode is Mode.INLINE else self.settings.background_steps

	def escalate(self, is_unreachable: bool) -> tuple[str | None, str] | None:
		"""(provider, model) of the next tier, for a run that does not succeed with its own; None without
		one.
		"""
		model = self.tiers and self.tiers.next(is_unreachable)
		return choose_model(self.agent_doc, None, model) if model else None

	def make_guards(
		self,
		timeout_s: float,
		steps: int | None = None,
		*others: Guard,
		nudge: str | None = None,
		spent_s: float = 0,
	) -> list[Guard]:
		"""The guards of a loop that begins now, in the order in which they are checked.

		`nudge`: what the model reads after its last step. `spent_s`: how much of the time is over already.
		"""
		return [
			StepCap(steps or self.steps, nudge),
			*others,
			Deadline(timeout_s, time.monotonic() - spent_s),
			ToolFailures(self.settings.max_tool_failures),
			Stall(self.agent_doc.stall_message or NUDGE),
		]

	@property
	def history_limit(self) -> int:
		return self.agent_doc.history_limit or self.settings.history_limit


@lru_cache(maxsize=256)
def build_agent(recipe: Recipe, run_child: RunChild | None) -> RunnableAgent:
	doc = recipe.doc
	settings = ModelSettings(
		temperature=doc.temperature, top_p=doc.top_p or None, max_tokens=doc.max_tokens or None
	)
	return RunnableAgent(
		name=doc.agent_name,
		instructions=doc.instructions or "",
		model=recipe.model,
		tools=[*create_agent_tools(doc, run_child)],
		model_settings=settings,
	)
