"""Selects the module that runs an agent with a provider, by the provider's name."""

from collections.abc import Mapping
from functools import lru_cache
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import Any

import frappe

from huf.ai.agents.runnable import RunnableAgent
from huf.ai.core.errors import UsageError
from huf.ai.core.types import DIRECT, OFFLINE, Outcome
from huf.ai.loop.run_context import RunContext

WITHOUT_MODEL = {OFFLINE: "huf.ai.providers.offline", DIRECT: "huf.ai.providers.direct"}


class RunProvider:
	"""Routes a run to a module: that of the models Offline and Direct, that of an app for its provider, else
	LiteLLM's.

	An app adds a provider by the hook `huf_providers = {"Its Name": "its_app.module"}`; the module has an
	async `run(agent, enhanced_prompt, provider, model, context)` that returns an Outcome; `context` is a
	RunContext, `agent` an `agents.Agent`.
	"""

	@staticmethod
	async def run(
		agent: Any,
		enhanced_prompt: str,
		provider: str | None,
		model: str,
		context: RunContext | Mapping[str, Any] | None = None,
	) -> Outcome:
		"""Run an agent, which may be an SDK agent, until it ends. Raises UsageError if LiteLLM is missing
		and needed.

		`context` may be a plain dict with some fields of RunContext, or None.
		"""
		module = find_module(provider, model)
		if isinstance(agent, RunnableAgent) and not module.__name__.startswith("huf.ai.providers."):
			from huf.ai.agents.sdk import to_sdk_agent

			agent = to_sdk_agent(agent)
		return await module.run(agent, enhanced_prompt, provider, model, RunContext.of(context))


def find_module(provider: str | None, model: str) -> ModuleType:
	if model in WITHOUT_MODEL:
		return import_module(WITHOUT_MODEL[model])
	hooked = frappe.get_hooks("huf_providers") or {}
	if provider in hooked:
		path = hooked[provider]
		return import_module(path[-1] if isinstance(path, list) else path)
	require_litellm()
	return import_module("huf.ai.providers.litellm")


@lru_cache(maxsize=1)
def require_litellm() -> None:
	"""Raises UsageError if LiteLLM is not installed. Once found, it is not looked for again."""
	if find_spec("litellm") is None:
		raise UsageError(
			"LiteLLM is not installed, so no model can be called. Install it: pip install 'litellm>=1.97,<2'"
		)
