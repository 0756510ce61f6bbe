"""Checks that a model can be called, with one tiny real call."""

import time
from dataclasses import replace

import frappe

from huf.ai.concurrency.event_loops import run_coroutine
from huf.ai.core.errors import BudgetReserved, ModelError, RunStopped
from huf.ai.core.types import ModelReply
from huf.ai.providers import litellm
from huf.ai.providers.litellm import UnsavedProvider
from huf.ai.storage.standalone_calls import budgeted_call

PROMPT = [{"role": "user", "content": "Answer with the word OK."}]
ANSWER_TOKENS = 16
TIMEOUT_S = 20
"""Short, because a person is waiting in front of the page."""


def try_model(name: str, provider: str | None = None, unsaved: UnsavedProvider | None = None) -> dict:
	"""Call an AI Model, or a model of an `unsaved` provider, within the user's budget.

	Returns {ok, said, error, took_ms}; `error` says what to do.
	"""
	provider = provider or frappe.get_cached_value("AI Model", name, "provider")
	began, reply, error = time.perf_counter(), None, None
	try:
		reply = call_without_retries(provider, name, unsaved)
	except (ModelError, RunStopped, BudgetReserved) as problem:
		error = str(problem)
	took = round((time.perf_counter() - began) * 1000)
	return {"ok": error is None, "said": reply.text.strip() if reply else "", "error": error, "took_ms": took}


def call_without_retries(provider: str, model: str, unsaved: UnsavedProvider | None) -> ModelReply:
	"""Call the model without retries; the cost counts towards budgets. Commits."""
	call = litellm.connect(provider, model, {"max_tokens": ANSWER_TOKENS}, False, unsaved)
	quick = replace(call, fixed={**call.fixed, "timeout": TIMEOUT_S})
	with budgeted_call(quick.worst_case(PROMPT, [])) as used:
		reply = run_coroutine(quick.complete(PROMPT, [], lambda text: None))
		used.usage = reply.usage
	return reply
