"""Model calls of the loop: fits the transcript to the window, reserves the cost, calls, retries if that can
help, and records each try.
"""

import asyncio
from collections.abc import Awaitable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, count
from typing import Any

from huf.ai.core.costs import Grant
from huf.ai.core.errors import BudgetReserved, ModelError, RunStopped
from huf.ai.core.events import Emit, EventKind
from huf.ai.core.types import ModelReply, Outcome, StopReason, Tool, Usage
from huf.ai.loop.context_window import (
	MIN_EXCERPT_CHARS,
	PIECE_CHARS,
	READ_MORE,
	ResultReader,
	Room,
	TooLong,
	fit,
)
from huf.ai.loop.guards import Guard, Progress
from huf.ai.loop.model import Model
from huf.ai.loop.run_context import Journal
from huf.ai.loop.waiting import watched

RETRY_PAUSE_S, MAX_RETRY_PAUSE_S = 0.2, 20.0
"""The pause before the second try doubles for each further one, up to the maximum."""
MAX_RETRY_AFTER_S = 60.0
"""A provider that asks for a longer pause is not called again."""
RESERVED_PAUSE_S = 0.25
MAX_RESERVED_PAUSES = 240
"""How often a run checks whether other calls have released budget: for about a minute."""
HEADER_CHARS = 100
"""Room for the line above a piece of a result."""


@dataclass(frozen=True)
class ModelInput:
	"""The input of one model call.

	`counted`: how many of its messages the provider has counted before, and their tokens.
	"""

	messages: list[dict]
	tools: list[Tool]
	counted: tuple[int, int] = (0, 0)


class TranscriptView:
	"""An outcome as its model sees it; made before anything is added to the opening messages.

	`tools_by_name` are the tools that can be called. `read_more` is among them from the first step, so that a
	resumed run can go on reading; the model is offered it once a result is not sent whole.
	"""

	def __init__(self, outcome: Outcome, tools: list[Tool], model: Model):
		self.outcome, self.tools = outcome, tools
		self.prompt_at = len(outcome.messages) - 1
		own = {tool.name: tool for tool in tools}
		# The reader refers to the outcome, not to this view: a cycle would keep the messages until a garbage
		# collection.
		self.reader = ResultReader(outcome)
		self.tools_by_name = {READ_MORE: self.reader.as_tool()} | own
		self.tools_with_reader = list(self.tools_by_name.values())
		self.sent = ModelInput(outcome.messages, tools)
		self.counted_input: tuple[ModelInput, int] | None = None
		self.switch_model(model)

	def switch_model(self, model: Model) -> Model:
		"""Continue with this model and its window; return it."""
		self.reports_tokens, self.counted_input = model.reports_prompt_tokens, None
		self.room: Room | None = model.room(self.tools_with_reader)
		if self.room:
			room_chars = max(MIN_EXCERPT_CHARS, self.room.allowed) - HEADER_CHARS
			self.reader.piece_chars = min(PIECE_CHARS, room_chars)
		return model

	def fit(self, with_tools: bool = True) -> ModelInput:
		"""The input of the next call; without tools if only an answer is wanted.

		Raises RunStopped if it does not fit, even after all cuts.
		"""
		messages, tools = self.outcome.messages, self.tools
		if self.room:
			fitted = fit(messages, self.prompt_at, self.room)
			if isinstance(fitted, TooLong):
				raise RunStopped(StopReason.CONTEXT_BUDGET, str(fitted))
			messages, tools = fitted.messages, self.tools_with_reader if fitted.is_partial else tools
		tools = tools if with_tools else []
		self.sent = ModelInput(list(messages), tools, self.find_counted(messages, tools))
		return self.sent

	def count_tokens(self, usage: Usage) -> None:
		"""Remember what the provider counted for the messages that were sent last."""
		if usage.input_tokens and self.reports_tokens:
			self.counted_input = ModelInput(list(self.sent.messages), self.sent.tools), usage.input_tokens

	def find_counted(self, messages: list[dict], tools: list[Tool]) -> tuple[int, int]:
		"""The provider's last count still holds where these messages begin with those."""
		if self.counted_input is None:
			return 0, 0
		before, tokens = self.counted_input
		is_prefix = tools is before.tools and messages[: len(before.messages)] == before.messages
		return (len(before.messages), tokens) if is_prefix else (0, 0)


@dataclass(frozen=True)
class ModelCaller:
	"""Makes the model calls of one run; `outcome` keeps text that arrives before a call breaks off."""

	outcome: Outcome
	guards: Sequence[Guard]
	journal: Journal
	emit: Emit

	async def call(self, step: int, sent: ModelInput, model: Model) -> ModelReply:
		"""The reply of the first successful try. Every try is recorded separately.

		Raises ModelError if no try succeeds, RunStopped if a guard or a budget ends it.
		"""
		for attempt in count():
			grant = await self.reserve(step, sent, model)
			try:
				return await self.call_once(step, sent, model, grant)
			except ModelError as error:
				is_last = attempt >= model.retries or error.retry_after > MAX_RETRY_AFTER_S
				if not error.retryable or is_last:
					raise
				pause_s = max(error.retry_after, min(RETRY_PAUSE_S * 2**attempt, MAX_RETRY_PAUSE_S))
			await self.wait_for(asyncio.sleep(pause_s), step)
		raise AssertionError("unreachable")

	async def reserve(self, step: int, sent: ModelInput, model: Model) -> Grant | None:
		"""Record the call and reserve its cost; wait while other calls hold the rest of a budget."""
		measure_cost = partial(model.worst_case, sent.messages, sent.tools, sent.counted)
		for attempt in count():
			try:
				return self.journal.start_model_call(step, measure_cost)
			except BudgetReserved as reserved:
				if attempt >= MAX_RESERVED_PAUSES:
					raise RunStopped(StopReason.MONEY_BUDGET, str(reserved)) from None
			await self.wait_for(asyncio.sleep(RESERVED_PAUSE_S), step)
		raise AssertionError("unreachable")

	async def call_once(self, step: int, sent: ModelInput, model: Model, grant: Grant | None) -> ModelReply:
		parts: list[str] = []
		has_reasoned = False

		def on_text(text: str, is_reasoning: bool = False) -> None:
			nonlocal has_reasoned
			has_reasoned |= is_reasoning
			if not is_reasoning:
				parts.append(text)
			kind = EventKind.REASONING_DELTA if is_reasoning else EventKind.TEXT_DELTA
			self.emit(kind, {"step": step, "text": text})

		try:
			call = model.complete(sent.messages, sent.tools, on_text, grant.max_tokens if grant else None)
			reply = await self.wait_for(call, step)
		except (ModelError, RunStopped) as error:
			partial_text, usage = "".join(parts), getattr(error, "usage", None)
			self.journal.fail_model_call(step, str(error), partial_text, usage)
			self.outcome.usage += usage or Usage()
			if partial_text:
				self.outcome.text, self.outcome.is_recorded = partial_text, False
			elif has_reasoned:
				# The next try produces new reasoning.
				self.emit(EventKind.TEXT_VOID, {"step": step})
			raise
		if parts or has_reasoned:
			self.emit(EventKind.TEXT_DONE, {"step": step})
			# Send the last words to readers of the stream before waiting for the database.
			await asyncio.sleep(0)
		reply = renew_call_ids(reply, self.outcome.messages)
		if grant and grant.short_by and reply.finish_reason == "length":
			reply = replace(reply, finish_reason="budget", cut_by=grant.short_by)
		self.journal.finish_model_call(step, reply)
		return reply

	async def wait_for(self, awaited: Awaitable, step: int) -> Any:
		with self.journal.waiting():
			return await watched(awaited, self.guards, Progress(step, waiting=True))


def renew_call_ids(reply: ModelReply, messages: Sequence[dict]) -> ModelReply:
	"""The reply with IDs that no other call of the transcript has, because pages and later runs find a call's
	result by its ID. Some servers number the calls of each reply anew, or give all the same ID.
	"""
	known = {call["id"] for message in messages for call in message.get("tool_calls") or ()}
	calls, renewed = [], dict[str, Iterator[str]]()
	for call in reply.calls:
		numbered = renewed.setdefault(call.id, number_ids(call.id))
		call_id = next(each for each in chain([call.id], numbered) if each not in known)
		known.add(call_id)
		calls.append(replace(call, id=call_id))
	return replace(reply, calls=tuple(calls))


def number_ids(call_id: str) -> Iterator[str]:
	return (f"{call_id}_{number}" for number in count(2))
