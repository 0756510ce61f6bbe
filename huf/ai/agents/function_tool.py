"""Wraps functions as tools, whose calls are checked, can be abandoned, and return text."""

import inspect
from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import frappe

from huf.ai.core.arguments import check_arguments, drop_nulls, parse_arguments
from huf.ai.core.errors import ToolError
from huf.ai.core.event_loops import run_coroutine
from huf.ai.core.flow import Concern
from huf.ai.core.json_text import ResultText, to_text, truncate_result
from huf.ai.core.refusals import read_refusal, remove_tags
from huf.ai.core.tool_threads import run_in_thread
from huf.ai.core.types import Effect
from huf.ai.tools.reads import Reads, tracking_reads
from huf.ai.tools.results import collect_items, to_json_value
from huf.ai.tools.second_person import SecondPerson
from huf.ai.tools.types import KNOWLEDGE, RUN_AGENT

Label = Callable[[dict, str], Iterable[str]]
"""Where untrusted content in a result comes from: (arguments, result) -> names for people."""


def may_run_concurrently(types: str, effect: Effect) -> bool:
	"""Whether calls of a tool may run side by side: reads, GET requests and other agents.

	Not searches of knowledge: the passages of one are numbered after those of the one before.
	"""
	return types in ("GET", RUN_AGENT) or (effect is Effect.READ and types != KNOWLEDGE)


def not_callable(arguments: dict) -> Any:
	raise ToolError("This tool cannot be called.")


@dataclass
class EffectTool:
	"""A tool of an agent, with its effect and its origin. The first five fields are those of the Agents SDK's
	FunctionTool.

	`start` (takes checked arguments), `run_concurrently`, `work` and `describe` are those of `ToolFunction`.
	`can_dry_run`: it changes nothing but documents, through Frappe. `progress`: what people read while it
	runs. `find_concern`: why a call needs a person now, or None. `origin`: where the outside content in its
	results comes from. `second_person`: which calls somebody else than the run's user has to approve.
	"""

	name: str
	description: str
	params_json_schema: dict[str, Any]
	on_invoke_tool: Callable[[Any, str], Awaitable[str]]
	strict_json_schema: bool = False
	effect: Effect = Effect.READ
	types: str = ""
	reference_doctype: str | None = None
	timeout: float | None = None
	max_calls: int = 0
	run_concurrently: Callable[[dict], Awaitable[str]] | None = None
	needs_approval: bool = False
	creates: bool = False
	can_dry_run: bool = False
	progress: str = ""
	start: Callable[[dict], Awaitable[str]] = not_callable
	work: Callable[[dict], str] = not_callable
	describe: Callable[[dict], dict] = not_callable
	find_concern: Callable[[dict], Concern | None] | None = None
	second_person: SecondPerson | None = None
	origin: str | None = None


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
	label: Label | None = None,
	origin: str | None = None,
) -> EffectTool:
	"""A tool whose `on_invoke_tool(context, arguments as JSON)` returns the result as text, cut to
	`result_limit` characters.

	After `timeout` seconds the loop abandons a call; None: never. A call raises what `admit` (called first)
	and the function raise, and ToolError where the arguments do not fit `parameters` (a JSON schema).
	`request` returns what a call would send; `label`: where untrusted content in a result comes from.
	"""
	calls = ToolFunction(name, parameters, function, admit, result_limit, request, types == RUN_AGENT, label)
	return EffectTool(
		name=name,
		description=description,
		params_json_schema=parameters,
		on_invoke_tool=calls.invoke,
		effect=effect,
		types=types,
		reference_doctype=reference_doctype,
		timeout=timeout,
		can_dry_run=can_dry_run,
		origin=origin,
		run_concurrently=calls.start_concurrently if may_run_concurrently(types, effect) else None,
		start=calls.start,
		work=calls.work,
		describe=calls.describe,
	)


@dataclass(frozen=True)
class ToolFunction:
	"""The function of one tool; checks and makes its calls."""

	name: str
	parameters: dict
	function: Callable[..., Any]
	admit: Callable[[], None] | None
	result_limit: int
	request: Callable[..., dict] | None
	uses_database: bool
	label: Label | None = None

	async def invoke(self, context: Any, input_json: str) -> str:
		"""The SDK's `on_invoke_tool`."""
		arguments = drop_nulls(parse_arguments(input_json), self.parameters)
		check_arguments(arguments, self.parameters)
		return await self.start(arguments)

	def start_concurrently(self, arguments: dict) -> Awaitable[str]:
		"""Start a call that runs side by side with others: only one that waits for the network shares their
		connection.
		"""
		if inspect.iscoroutinefunction(self.function) and not self.uses_database:
			return self.call_async(arguments)
		return run_in_thread(partial(self.call, arguments), has_own_connection=True)

	def start(self, arguments: dict) -> Awaitable[str]:
		"""Start a call with checked arguments; a synchronous function runs where it can be abandoned."""
		if inspect.iscoroutinefunction(self.function):
			return self.call_async(arguments)
		return run_in_thread(partial(self.call, arguments))

	async def call_async(self, arguments: dict) -> str:
		self.check_admission()
		with messages_dropped(), tracking_reads() as reads:
			result = await self.function(**arguments)
			return self.finish(arguments, result, reads)

	def call(self, arguments: dict) -> str:
		self.check_admission()
		with messages_dropped(), commits_reported(), tracking_reads() as reads:
			result = self.function(**arguments)
			if inspect.iscoroutine(result):
				result = run_coroutine(result)
			if inspect.isasyncgen(result):
				result = run_coroutine(collect_items(result))
			return self.finish(arguments, result, reads)

	def finish(self, arguments: dict, result: Any, reads: Reads) -> str:
		"""The result as text, with the origins of its untrusted content."""
		visible = to_json_value(result)
		text = truncate_result(visible, self.result_limit)
		# The end of a result, which may say that it is untrusted, is cut off first.
		label = self.label(arguments, to_text(visible)) if self.label else ()
		origins = [*label, *reads.find_origins()]
		return ResultText.of(text, origins) if origins else text

	def work(self, arguments: dict) -> str:
		"""Check the arguments and make the call in this thread, as a dry run does."""
		check_arguments(arguments, self.parameters)
		return self.call(arguments)

	def describe(self, arguments: dict) -> dict:
		"""What a call would send: an HTTP request, or {tool, arguments}."""
		self.check_admission()
		check_arguments(arguments, self.parameters)
		return self.request(**arguments) if self.request else {"tool": self.name, "arguments": arguments}

	def check_admission(self) -> None:
		if self.admit:
			self.admit()


COMMITTED = "What it wrote before this error was committed by the tool itself and stays."


@contextmanager
def commits_reported() -> Iterator[None]:
	"""Say in the error of a failed call that what it wrote stays, if the function has committed: a model
	takes failed calls for rolled back, and repeats them.
	"""
	is_running, commits = True, list[bool]()
	frappe.db.before_commit.add(lambda: commits.append(is_running))
	try:
		yield
	except Exception as error:  # any error of a tool's code; it is raised again
		if any(commits):
			error.args = (f"{str(error).rstrip('.') or type(error).__name__}. {COMMITTED}",)
		raise
	finally:
		is_running = False


@contextmanager
def messages_dropped() -> Iterator[None]:
	"""Keep messages of frappe.throw and msgprint in a tool from the caller's browser: they are for the model.

	Errors get the text that Frappe keeps elsewhere: in a flag for a missing permission, in the arguments for
	a name that is taken. Tags are removed. A function that exits, as argparse does after wrong arguments,
	ends its call, not the process.
	"""
	messages, frappe.flags.error_message = len(frappe.local.message_log), None
	try:
		yield
	except SystemExit as error:
		raise ToolError(f"The function called sys.exit({error.code!r}).") from error
	except frappe.PermissionError as error:
		error.args = (read_refusal(error),)
		raise
	except frappe.DuplicateEntryError as error:
		if len(error.args) < 2:
			raise
		raise ToolError("There is already a {} {!r}.".format(*error.args)) from error
	except frappe.MandatoryError as error:
		if str(error).startswith("["):
			# Frappe's own check says only "[DocType, name]: field, field".
			error.args = (f"Values are missing in {error}",)
		raise
	except frappe.ValidationError as error:
		if error.args and isinstance(error.args[0], list | tuple):
			# of frappe.throw with as_list
			error.args = ("\n".join(map(str, error.args[0])),)
		if "</" in str(error):
			# It was written for a browser.
			error.args = (remove_tags(str(error)),)
		raise
	finally:
		del frappe.local.message_log[messages:]
