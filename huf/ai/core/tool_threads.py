"""Runs synchronous tools in a thread that can be abandoned; an abandoned tool loses its database
connection.

A call has its own `frappe.local` (in Frappe 16 a copied context would share it) and uses the run's
connection, which nothing else may use until it ends: see `is_tool_running`. A call that runs concurrently
with others has its own connection.
"""

import asyncio
import os
import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from contextvars import Context, copy_context
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue
from typing import Any

import frappe

from huf.ai.core.database_connections import connect, end_connection
from huf.ai.core.errors import ToolError

COPIED = ("session", "flags")
"""Attributes of `frappe.local` of which a call has a copy: an abandoned one may change them while the run
goes on.
"""
THREAD_LOCAL_NAMES = (*COPIED, "form_dict")
"""The session and the request's form stay the caller's: a call may have acted as somebody else."""
CANCEL_GRACE_S = 0.8
"""How long a call with its own connection may take to clean up; less than `loop/waiting.py` waits for it."""
IDLE_S = 10
"""How long a thread without a call is kept."""
_thread = threading.local()
_idle: deque[SimpleQueue] = deque()
os.register_at_fork(after_in_child=_idle.clear)


@dataclass(eq=False)
class RunningCall:
	"""A call in its thread. `cancels` end what an event loop of the thread runs, in an orderly way."""

	context: Context
	has_own_connection: bool
	cancels: list[Callable[[], Any]] = field(default_factory=list)


async def run_in_thread(function: Callable[[], Any], has_own_connection: bool = False) -> Any:
	"""Call a synchronous function in another thread. Cancelling the wait abandons the call.

	`has_own_connection`: the changes on its connection are committed at the end, or rolled back after an
	error.
	"""
	call = RunningCall(copy_context(), has_own_connection)
	call.context.run(detach, has_own_connection)
	loop = asyncio.get_running_loop()
	future = loop.create_future()

	def work() -> None:
		try:
			outcome: tuple[Any, BaseException | None] = call.context.run(call_in_thread, function, call), None
		except BaseException as error:  # raised again in the coroutine that waits for the tool
			outcome = None, error
		with suppress(RuntimeError):  # the loop is closed, so nobody waits for the result
			loop.call_soon_threadsafe(settle, future, outcome)

	get_running_calls().append(call)
	try:
		submit(work)
		result, error = await asyncio.shield(future)
	except asyncio.CancelledError:
		await cancel(call, future)
		raise
	finally:
		with suppress(ValueError):  # abandoned by `abandon_calls`
			get_running_calls().remove(call)
	if not has_own_connection:
		adopt(call.context)
	if error:
		raise error
	return result


def submit(work: Callable[[], None]) -> None:
	"""Run `work` in an idle thread, or in a new one if none is idle."""
	try:
		queue = _idle.pop()
	except IndexError:
		queue = SimpleQueue()
		# A daemon: a tool that never ends must not keep the process alive.
		threading.Thread(target=run_queued_calls, args=(queue,), name="huf-tool", daemon=True).start()
	queue.put(work)


def run_queued_calls(queue: SimpleQueue) -> None:
	"""Run the work of a queue in this thread, which ends after IDLE_S without any."""
	while True:
		try:
			queue.get(timeout=IDLE_S)()
		except Empty:
			with suppress(ValueError):  # `submit` has just claimed this thread: its work follows
				_idle.remove(queue)
				return
		else:
			_idle.append(queue)


def call_in_thread(function: Callable[[], Any], call: RunningCall) -> Any:
	_thread.call = call
	try:
		return call_on_own_connection(function) if call.has_own_connection else call_as_same_user(function)
	finally:
		_thread.call = None


def call_on_own_connection(function: Callable[[], Any]) -> Any:
	connect()
	connection = frappe.local.db
	try:
		result = function()
		connection.commit()
		return result
	finally:
		connection.close()


def on_cancel(cancel: Callable[[], Any]) -> None:
	"""Register `cancel`, which another thread calls when this thread's call is abandoned."""
	if call := getattr(_thread, "call", None):
		call.cancels.append(cancel)


async def cancel(call: RunningCall, future: asyncio.Future) -> None:
	"""Abandon a call; what it runs on an event loop may clean up first."""
	for each in call.cancels if call.has_own_connection else ():
		each()
	if call.has_own_connection and call.cancels:
		await asyncio.wait({future}, timeout=CANCEL_GRACE_S)
	if not future.done():
		abandon(call)


def is_tool_running() -> bool:
	"""Whether the event loop of this thread waits for a synchronous tool that has its connection
	meanwhile.
	"""
	return any(not call.has_own_connection for call in get_running_calls())


def abandon_calls() -> None:
	"""Abandon every call that the event loop of this thread waits for."""
	while calls := get_running_calls():
		abandon(calls.pop())


def abandon(call: RunningCall) -> None:
	"""Take the connection away from a running call: its writes are rolled back, and later statements fail."""
	# Its thread has entered the context itself. The call may have opened a separate connection.
	taken = {call.context.copy().run(lambda: frappe.local.db)}
	if call.has_own_connection:
		taken -= {frappe.local.db}
	else:
		taken.add(frappe.local.db)
		connect()
	for db in taken:
		db.sql = db.commit = db.connect = raise_abandoned
		end_connection(db)


def raise_abandoned(*args: Any, **kwargs: Any) -> None:
	raise ToolError("This call was abandoned and can no longer change anything.")


def detach(has_own_connection: bool) -> None:
	"""Give this context a separate `frappe.local`, with the same values but its own session and flags.

	A call with its own connection has its own caches and messages as well.
	"""
	values = dict(frappe.local)
	frappe.release_local(frappe.local)
	for name, value in values.items():
		is_copied = name in COPIED or (has_own_connection and isinstance(value, dict | list))
		setattr(frappe.local, name, value.copy() if is_copied else value)


def call_as_same_user(function: Callable[[], Any]) -> Any:
	"""Call it, and forget what was cached for another user if the function does not return as the same
	one.
	"""
	user = frappe.session.user
	try:
		return function()
	finally:
		if frappe.session.user != user:
			frappe.set_user(user)


def adopt(context: Context) -> None:
	"""Take over the state of a finished call's `frappe.local`: flags, messages, caches, a new connection."""
	values = context.run(lambda: dict(frappe.local))
	frappe.local.flags.clear()
	frappe.local.flags.update(values["flags"])
	for name, value in values.items():
		if name not in THREAD_LOCAL_NAMES and getattr(frappe.local, name, None) is not value:
			setattr(frappe.local, name, value)


def settle(future: asyncio.Future, outcome: tuple) -> None:
	if not future.done():
		future.set_result(outcome)


def get_running_calls() -> list[RunningCall]:
	return _thread.__dict__.setdefault("calls", [])
