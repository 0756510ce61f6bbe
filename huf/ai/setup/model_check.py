"""Whether a model can be asked: one tiny real call, and in plain words what is wrong."""

import time
from dataclasses import replace

import frappe

from huf.ai.concurrency.event_loops import run_coroutine
from huf.ai.core.errors import BudgetReserved, ModelError, RunStopped
from huf.ai.core.types import ModelReply
from huf.ai.providers import litellm
from huf.ai.storage.standalone_calls import budgeted_call

PROMPT = [{"role": "user", "content": "Answer with the word OK."}]
ANSWER_TOKENS = 16
PATIENCE = 20
"""Seconds; who waits for it sits in front of the page."""


def try_model(name: str) -> dict:
	"""{ok, said, error, took_ms} of an AI Model that is on record; `error` says what to do. Keeps the user's limits."""
	provider = frappe.get_cached_value("AI Model", name, "provider")
	began, reply, error = time.perf_counter(), None, None
	try:
		reply = ask_once(provider, name)
	except (ModelError, RunStopped, BudgetReserved) as problem:
		error = str(problem)
	took = round((time.perf_counter() - began) * 1000)
	return {"ok": error is None, "said": reply.text.strip() if reply else "", "error": error, "took_ms": took}


def ask_once(provider: str, model: str) -> ModelReply:
	"""Ask without trying again, paid as any call. Commits."""
	call = litellm.connect(provider, model, {"max_tokens": ANSWER_TOKENS}, False)
	quick = replace(call, fixed={**call.fixed, "timeout": PATIENCE})
	with budgeted_call(quick.worst_case(PROMPT, [], (0, 0))) as bill:
		reply = run_coroutine(quick(PROMPT, [], lambda text: None))
		bill.usage = reply.usage
	return reply
