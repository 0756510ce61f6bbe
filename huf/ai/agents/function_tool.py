"""A function becomes a tool: its calls are checked, run where they can be left behind, and give text."""

import inspect
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import frappe
from agents import FunctionTool

from huf.ai.concurrency.event_loops import run_coroutine
from huf.ai.concurrency.tool_threads import run_in_thread
from huf.ai.core.arguments import check_arguments, parse_arguments, truncate_result
from huf.ai.core.types import Effect


@dataclass
class EffectTool(FunctionTool):
	"""The SDK's tool, plus what it does to the world and where it comes from.

	`start`, which takes checked arguments, `work` and `describe` are those of `Calls`. `can_dry_run`: it changes nothing but
	documents, through Frappe. `progress`: what people read while it runs.
	"""

	effect: Effect = Effect.READ
	types: str = ""
	reference_doctype: str | None = None
	timeout: float | None = None
	max_calls: int = 0
	concurrent: bool = False
	needs_approval: bool = False
	can_dry_run: bool = False
	progress: str = ""
	start: Callable[[dict], Awaitable[str]] | None = None
	work: Callable[[dict], str] | None = None
	describe: Callable[[dict], dict] | None = None
	why_person: Callable[[dict], str | None] | None = None


def create_function_tool(
	name: str,
	description: str,
	parameters: dict,
	function: Callable[..., Any | Awaitable[Any]],
	effect: Effect = Effect.READ,
	types: str = "",
	reference_doctype: str | None = None,
	timeout: float | None = None,
	admit: Callable[[], None] | None = None,
	result_limit: int = 0,
	request: Callable[..., dict] | None = None,
	can_dry_run: bool = False,
) -> EffectTool:
	"""A tool whose `on_invoke_tool(context, arguments as JSON)` gives the result as text, shortened to `result_limit`.

	After `timeout` seconds the loop abandons a call; None: never. Raises what `admit` (asked first) and the function raise;
	ToolError where the arguments do not fit `parameters` (a JSON schema). `request` shows what a call would send.
	"""
	calls = Calls(name, parameters, function, admit, result_limit, request)
	return EffectTool(
		name=name,
		description=description,
		params_json_schema=parameters,
		on_invoke_tool=calls.on_invoke_tool,
		strict_json_schema=False,
		effect=effect,
		types=types,
		reference_doctype=reference_doctype,
		timeout=timeout,
		can_dry_run=can_dry_run,
		# What waits for the network; anything else, and all that another agent does, uses the run's one connection to the
		# database.
		concurrent=effect is Effect.READ and inspect.iscoroutinefunction(function) and types != "Run Agent",
		start=calls.start,
		work=calls.work,
		describe=calls.describe,
	)


@dataclass(frozen=True)
class Calls:
	"""How the calls of one tool are made; `create_function_tool` says of what."""

	name: str
	parameters: dict
	function: Callable[..., Any | Awaitable[Any]]
	admit: Callable[[], None] | None
	result_limit: int
	request: Callable[..., dict] | None

	async def on_invoke_tool(self, context, input_json: str) -> str:
		arguments = parse_arguments(input_json)
		check_arguments(arguments, self.parameters)
		return await self.start(arguments)

	def start(self, arguments: dict) -> Awaitable[str]:
		"""Make a call, of synchronous code where it can be left behind."""
		if inspect.iscoroutinefunction(self.function):
			return self.wait(arguments)
		return run_in_thread(partial(self.make, arguments))

	async def wait(self, arguments: dict) -> str:
		self.let_in()
		with unheard():
			return truncate_result(await self.function(**arguments), self.result_limit)

	def make(self, arguments: dict) -> str:
		self.let_in()
		with unheard():
			result = self.function(**arguments)
			return truncate_result(
				run_coroutine(result) if inspect.isawaitable(result) else result, self.result_limit
			)

	def work(self, arguments: dict) -> str:
		"""Check a call and make it as a whole in the calling thread."""
		check_arguments(arguments, self.parameters)
		return self.make(arguments)

	def describe(self, arguments: dict) -> dict:
		"""What a call would send."""
		self.let_in()
		check_arguments(arguments, self.parameters)
		return self.request(**arguments) if self.request else {"tool": self.name, "arguments": arguments}

	def let_in(self) -> None:
		if self.admit:
			self.admit()


@contextmanager
def unheard() -> Iterator[None]:
	"""What frappe.throw and msgprint said inside a tool is for the model, not for the browser of the caller."""
	messages = len(frappe.local.message_log)
	try:
		yield
	finally:
		del frappe.local.message_log[messages:]
