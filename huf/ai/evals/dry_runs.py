"""The tools of a case, each call made in a trial that is undone at once: nothing of a case stays, and nothing gets out.

What an earlier call has changed is there for a later one, because the calls before are made again inside of each trial. So no
transaction is open while a model is asked. Documents have other names each time; the agent is told those of the first time.
Tools that reach outside are not called: the case says what they give.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import replace
from typing import Any

import frappe

from huf.ai.agents.function_tool import EffectTool
from huf.ai.agents.tool_factory import create_agent_tools
from huf.ai.concurrency.tool_threads import run_in_thread
from huf.ai.core.arguments import to_text
from huf.ai.core.errors import ToolError
from huf.ai.core.mail_types import Direction, MailStatus
from huf.ai.core.types import Effect
from huf.ai.dry_run import isolation
from huf.ai.dry_run.change_tracking import Touched, noting
from huf.ai.dry_run.preview import forget_caches
from huf.ai.evals.cases import EvalCase
from huf.ai.mail import store
from huf.ai.mail.dispatch import preprocessors
from huf.ai.mail.message import parse_message
from huf.ai.mail.preprocess import Prepared, prepare
from huf.ai.runs.admission import acting_as

LONG_NAME = 8
"""Characters from which on a name is looked for inside other texts as well."""


class CaseDryRuns:
	"""Of one try of a case. `tools` are the agent's, as the user of the case has them."""

	def __init__(self, case: EvalCase, agent):
		self.case, self.agent = case, agent
		self.user = (
			f"eval-{frappe.generate_hash(length=8)}@example.com" if case.roles else frappe.session.user
		)
		self.run = frappe.generate_hash(length=10)
		self.done: list[tuple[EffectTool, dict]] = []
		self.names: list[tuple[str, str]] = []
		self.given = {
			name: list(each) if isinstance(each, list) else None for name, each in case.results.items()
		}
		with self.trial():
			self.own = {tool.name: tool for tool in create_agent_tools(agent)}
		self.tools = [self.wrap(tool) for tool in self.own.values()]

	def prepared(self) -> Prepared:
		"""The case's mail as the agent reads it."""
		return prepare(parse_message(self.case.mail.encode()), preprocessors())

	# --- calls ---

	def wrap(self, tool: EffectTool) -> EffectTool:
		async def start(arguments: dict) -> str:
			if tool.name in self.given:
				return to_text(self.next_result(tool.name))
			if tool.effect is Effect.EXTERNAL:
				raise ToolError(
					f"Nothing outside is reached in an eval. Let the case say what {tool.name} gives."
				)
			return await run_in_thread(lambda: self.call(tool, arguments))

		return replace(tool, start=start, concurrent=False)

	def next_result(self, name: str) -> Any:
		queue = self.given[name]
		if queue is None:
			return self.case.results[name]
		if not queue:
			raise ToolError(f"The case has no further result for {name}.")
		return queue.pop(0)

	def call(self, tool: EffectTool, arguments: dict) -> str:
		with self.trial() as rename:
			result = rename(tool.work(rename(arguments, back=True)))
			if tool.effect is Effect.WRITE:
				self.names = rename.keep()
		if tool.effect is Effect.WRITE:
			self.done.append((tool, arguments))
		return result

	def look(self, doctype: str, where: Mapping, fields: list[str]) -> list[Mapping]:
		"""Rows as they are after all calls. Of mail, only what belongs to the case's own."""
		if doctype in (store.MAIL, store.EVENT):
			where = {"thread": self.run, **where}
		with self.trial(), acting_as("Administrator"):
			known = frappe.get_meta(doctype).get_valid_columns()
			wanted = [name for name in fields if name in known] or ["name"]
			return frappe.get_all(doctype, dict(where), wanted, order_by="creation asc")

	# --- a trial ---

	@contextmanager
	def trial(self) -> Iterator["NameMap"]:
		"""The records of the case, and what was done so far, as its user; undone at the end."""
		frappe.db.rollback()
		touched = None
		before, frappe.flags.huf_run = frappe.flags.huf_run, self.run
		try:
			with acting_as("Administrator"), isolation.closed(), noting(is_trial=True) as touched:
				self.set_up()
				with acting_as(self.user):
					names = NameMap(touched, self.names)
					for tool, arguments in self.done:
						tool.work(names(arguments, back=True))
					yield names
		finally:
			frappe.flags.huf_run = before
			forget_caches(touched.documents if touched else {})
			frappe.db.rollback()

	def set_up(self) -> None:
		if self.case.roles:
			self.make_user()
		for values in self.case.records:
			frappe.get_doc(deepcopy(values)).insert(set_name=values.get("name"))
		if self.case.mail:
			self.make_mail()

	def make_user(self) -> None:
		"""Its rows alone: saving a User is slow, and does much that a case needs none of."""
		about = {"doctype": "User", "name": self.user, "email": self.user, "first_name": "Eval", "enabled": 1}
		frappe.get_doc({**about, "user_type": "System User"}).db_insert()
		place = {"doctype": "Has Role", "parent": self.user, "parenttype": "User", "parentfield": "roles"}
		for role in self.case.roles:
			frappe.get_doc({**place, "role": role}).db_insert()

	def make_mail(self) -> None:
		"""The mail, in a mailbox, and the run that is about it."""
		message, prepared = parse_message(self.case.mail.encode()), self.prepared()
		box = {
			"mailbox_name": f"Eval {self.run}",
			"email": f"office-{self.run}@example.com",
			"run_as": self.user,
		}
		frappe.get_doc({"doctype": "Agent Mailbox", **box}).insert()
		row = {
			"mailbox": box["mailbox_name"],
			"direction": Direction.INCOMING.value,
			"status": MailStatus.STARTED.value,
			"thread": self.run,
			"message_id": message.message_id or self.run,
			"sender": message.sender,
			"recipients": ", ".join(message.to),
			"subject": message.subject,
			"text": message.text,
			"automated": message.automated,
			"prepared": json.dumps({**prepared.fields, "answer_to": prepared.answer_to}),
			"run_as": self.user,
			"run": self.run,
		}
		store.insert_mail(self.run, row, self.user)
		about = {"reference_doctype": store.MAIL, "reference_name": self.run, "agent": self.agent.name}
		frappe.get_doc({"doctype": "Agent Run", "status": "Started", "run_as": self.user, **about}).insert(
			set_name=self.run
		)


class NameMap:
	"""What documents made inside of a trial are called, and what they were called the first time."""

	def __init__(self, touched: Touched, first: list[tuple[str, str]]):
		self.touched, self.first = touched, first

	def pairs(self) -> list[tuple[str, str]]:
		"""(name now, name the first time), where these are not the same."""
		both = zip(list(self.touched.documents), self.first, strict=False)
		return [(now[1], then[1]) for now, then in both if now[0] == then[0] and now[1] != then[1]]

	def keep(self) -> list[tuple[str, str]]:
		"""All that was touched so far, by the names of the first time."""
		return [*self.first, *list(self.touched.documents)[len(self.first) :]]

	def __call__(self, value: Any, back: bool = False) -> Any:
		"""Put the names of the first time in the place of those of now; `back`: the other way round."""
		for now, then in self.pairs():
			old, new = (then, now) if back else (now, then)
			value = change_names(value, lambda text, old=old, new=new: change_name(text, old, new))
		return value


def change_names(value: Any, change: Callable[[str], str]) -> Any:
	if isinstance(value, str):
		return change(value)
	if isinstance(value, dict):
		return {key: change_names(each, change) for key, each in value.items()}
	return [change_names(each, change) for each in value] if isinstance(value, list) else value


def change_name(text: str, old: str, new: str) -> str:
	if len(old) >= LONG_NAME:
		return text.replace(old, new)
	return new if text == old else text.replace(json.dumps(old), json.dumps(new))
