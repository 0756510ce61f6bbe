"""Pools sessions with MCP servers between the calls of a conversation, so that local servers start once and
servers can keep state.

Sessions live on a separate event loop. A session serves one call at a time, and never another conversation or
user. Sessions with OAuth are not pooled: their provider reads and writes the site's secrets.
"""

import asyncio
import json
import os
from collections.abc import AsyncIterator, Callable, Hashable, Iterator
from contextlib import asynccontextmanager, contextmanager
from contextvars import copy_context
from dataclasses import asdict, replace
from hashlib import sha256
from typing import TYPE_CHECKING

from huf.ai.core.errors import ToolError
from huf.ai.core.event_loops import run_in_background
from huf.ai.mcp.client import session
from huf.ai.mcp.client.definitions import ToolDefinition
from huf.ai.mcp.client.session import Faulty, ServerTarget, ToolChanged

if TYPE_CHECKING:
	from mcp import Client

IDLE_S = 60.0
"""How long a session stays open after a call."""
MAX_IDLE = 32
"""Per process. The least recently used session is closed first."""


async def call_pooled(
	target: ServerTarget, accepted: ToolDefinition, arguments: dict, owner: Hashable
) -> dict:
	"""Like `session.call_tool`, in a pooled session of `owner` if there is one."""
	if target.auth:
		return await session.call_tool(target, accepted, arguments)
	key = (os.getpid(), owner, make_fingerprint(target))
	target = replace(target, context=copy_context())
	return await run_in_background("mcp", call_in_pooled_session(key, target, accepted, arguments))


def make_fingerprint(target: ServerTarget) -> str:
	"""A hash of the address, command, credentials and limits, which reveals none of them."""
	parts = asdict(replace(target, auth=None, statuses=[]))
	return sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


async def call_in_pooled_session(
	key: Hashable, target: ServerTarget, accepted: ToolDefinition, arguments: dict
) -> dict:
	while True:
		borrowed = BorrowedSession(key)
		try:
			return await session.call_tool(target, accepted, arguments, borrowed.open, borrowed.note_call)
		except ToolError as error:
			# The server may have ended the session while it was idle. Nothing has been called yet.
			if isinstance(error, ToolChanged) or not borrowed.is_stale:
				raise


class BorrowedSession:
	"""A session for one call."""

	def __init__(self, key: Hashable):
		self.key, self.is_stale = key, False

	def note_call(self) -> None:
		self.is_stale = False

	@asynccontextmanager
	async def open(self, target: ServerTarget, faulty: list[Faulty]) -> AsyncIterator["Client"]:
		import anyio

		pooled = borrow_session(self.key)
		self.is_stale = pooled is not None
		pooled = pooled or PooledSession(self.key, target)
		faulty.append(pooled)
		with anyio.CancelScope() as scope, pooled.watched(scope.cancel):
			try:
				yield await pooled.begin(target)
			except BaseException:  # a cancelled call, too, leaves the session in an unknown state
				pooled.close()
				raise
			return_session(pooled)
		if scope.cancelled_caught:
			pooled.raise_failure()


class PooledSession:
	"""An open session, held by a separate task: the SDK requires the task that opened it to close it."""

	def __init__(self, key: Hashable, target: ServerTarget):
		self.key, self.faulty = key, list[Faulty]()
		self.loop = asyncio.get_running_loop()
		self.opened: asyncio.Future[Client] = self.loop.create_future()
		self.closing = asyncio.Event()
		self.timer: asyncio.TimerHandle | None = None
		self.task = self.loop.create_task(self.hold(target))
		self.task.add_done_callback(read_exception)

	async def hold(self, target: ServerTarget) -> None:
		async with session.open_session(target, self.faulty) as client:
			self.opened.set_result(client)
			await self.closing.wait()

	@property
	def fault(self) -> str | None:
		return next((each.fault for each in self.faulty if each.fault), None)

	@property
	def is_usable(self) -> bool:
		return not (self.task.done() or self.fault)

	async def begin(self, target: ServerTarget) -> "Client":
		"""The client for the next call."""
		from huf.ai.mcp.client.http_transport import GuardedTransport

		for guard in self.faulty:
			if isinstance(guard, GuardedTransport) and target.context:
				guard.begin(target.context, target.statuses)
		return await asyncio.shield(self.opened)

	@contextmanager
	def watched(self, on_end: Callable[[], None]) -> Iterator[None]:
		"""Call `on_end` if the session ends during the block: its requests would then wait forever."""

		def end(task: asyncio.Task) -> None:
			on_end()

		self.task.add_done_callback(end)
		try:
			yield
		finally:
			self.task.remove_done_callback(end)

	def raise_failure(self) -> None:
		self.task.result()
		raise ToolError(self.fault or "The session ended.")

	def close(self) -> None:
		self.closing.set()
		self.loop.call_later(session.CLOSE_TIMEOUT_S, self.task.cancel)


def read_exception(task: asyncio.Task) -> None:
	"""Retrieve the exception, so that asyncio does not log it."""
	if not task.cancelled():
		task.exception()


_idle: list[PooledSession] = []
"""The most recently used session is last. Accessed only on the event loop of the sessions."""


def borrow_session(key: Hashable) -> PooledSession | None:
	"""An open session that is not in use, or None. Sessions that have ended are dropped."""
	for pooled in [each for each in reversed(_idle) if each.key == key]:
		_idle.remove(pooled)
		assert pooled.timer is not None
		pooled.timer.cancel()
		if pooled.is_usable:
			return pooled
		pooled.close()
	return None


def return_session(pooled: PooledSession) -> None:
	_idle.append(pooled)
	pooled.timer = pooled.loop.call_later(IDLE_S, close_idle, pooled)
	while len(_idle) > MAX_IDLE:
		close_idle(_idle[0])


def close_idle(pooled: PooledSession) -> None:
	if pooled in _idle:
		_idle.remove(pooled)
		pooled.close()
