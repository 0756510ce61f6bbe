"""An Agent record made ready to run: its model, its tools, its settings. Runs nothing."""

import frappe

from huf.ai.providers.models import choose_model
from huf.ai.settings import get_settings


class AgentManager:
	"""Prepares an agent for a run: its record, its model, its tools."""

	def __init__(self, agent_name: str, provider: str | None = None, model: str | None = None):
		self.agent_doc = frappe.get_cached_doc("Agent", agent_name)
		self.settings = get_settings()
		self.provider, self.model = choose_model(self.agent_doc, provider, model)
		self.tools: list = []

	def _setup_tools(self) -> None:
		from huf.ai.sdk_tools import create_agent_tools

		self.tools = create_agent_tools(self.agent_doc)

	def create_agent(self):
		"""An `agents.Agent` with the record's instructions, tools and model settings."""
		from agents import Agent, ModelSettings

		self._setup_tools()
		doc = self.agent_doc
		settings = ModelSettings(
			temperature=doc.temperature, top_p=doc.top_p or None, max_tokens=doc.max_tokens or None
		)
		return Agent(
			name=doc.agent_name,
			instructions=doc.instructions or "",
			model=self.model,
			tools=self.tools,
			model_settings=settings,
		)

	@property
	def steps(self) -> int:
		return self.agent_doc.max_iterations or self.settings.max_steps

	@property
	def history_limit(self) -> int:
		return self.agent_doc.history_limit or self.settings.history_limit
