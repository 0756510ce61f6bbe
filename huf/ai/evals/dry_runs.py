"""The tools of an eval case: each call is a dry run that is rolled back, so a case has no lasting or outside
effect.

A later call must see the changes of earlier ones, and no transaction may stay open while a model is called.
So each dry run first repeats the write calls before it. Documents and rows with generated names get new names
each time; the agent always reads those of the first time. External tools are not called: the case contains
their results.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import replace
from typing import Any

import frappe
from frappe import _

from huf.ai.agents.function_tool import EffectTool
from huf.ai.agents.tool_factory import create_agent_tools
from huf.ai.core.errors import PreviewRefused, ToolError, UsageError
from huf.ai.core.json_text import to_text
from huf.ai.core.mail_types import Direction, MailStatus
from huf.ai.core.session import acting_as
from huf.ai.core.tool_threads import run_in_thread
from huf.ai.core.types import Effect
from huf.ai.dry_run import isolation
from huf.ai.dry_run.change_tracking import tracking
from huf.ai.dry_run.preview import clear_caches
from huf.ai.evals.cases import EvalCase
from huf.ai.evals.name_map import NameMap, rename_all
from huf.ai.mail import store
from huf.ai.mail.dispatch import read_preprocessors
from huf.ai.mail.message import parse_message
from huf.ai.mail.preprocess import PreparedMail, prepare_mail
from huf.ai.tools.types import HTTP_TYPES, MCP_TOOL

MAX_HIDDEN_RECORDS = 10_000


class CaseDryRuns:
	"""One attempt at a case; `tools` are the agent's tools for the user of the case.

	`author`: who has saved the case last, by default the session user.
	"""

	def __init__(self, case: EvalCase, agent, author: str | None = None):
		self.case, self.agent = case, agent
		user = choose_user(author or frappe.session.user)
		self.user = f"eval-{frappe.generate_hash(length=8)}@example.com" if case.roles else user
		check_case_roles(case.roles, user)
		# Makes the case's records, and reads those that it checks.
		self.setup_user = "Administrator" if "System Manager" in frappe.get_roles(user) else user
		self.run = frappe.generate_hash(length=10)
		self.write_calls: list[tuple[EffectTool, dict]] = []
		self.calls_without_result: list[tuple[str, dict]] = []
		self.first_documents: list[tuple[str, str]] = []
		self.first_rows: list[list[str]] = []
		self.remaining_results = {
			name: list(each) if isinstance(each, list) else None for name, each in case.results.items()
		}
		with self.dry_run():
			self.tools = [self.wrap(tool) for tool in create_agent_tools(agent)]

	def prepared_mail(self) -> PreparedMail:
		"""The case's mail as the agent reads it."""
		return prepare_mail(parse_message((self.case.mail or "").encode()), read_preprocessors())

	# --- calls ---

	def wrap(self, tool: EffectTool) -> EffectTool:
		async def start(arguments: dict) -> str:
			if tool.name in self.remaining_results:
				return to_text(unwrap_result(self.next_result(tool.name)))
			if tool.effect is not Effect.READ and not tool.can_dry_run:
				return self.answer_external(tool, arguments)
			if tool.types in (*HTTP_TYPES, MCP_TOOL):
				return await self.call_server(tool, arguments)
			try:
				return await run_in_thread(lambda: self.call(tool, arguments))
			except PreviewRefused:
				self.calls_without_result.append((tool.name, arguments))
				raise

		return replace(tool, start=start, run_concurrently=None)

	def answer_external(self, tool: EffectTool, arguments: dict) -> str:
		"""The result of a call that cannot be rolled back, or a ToolError."""
		self.calls_without_result.append((tool.name, arguments))
		raise ToolError(
			"An eval makes only calls that it can roll back. "
			f"Add a result of {tool.name} to the case's results."
		)

	async def call_server(self, tool: EffectTool, arguments: dict) -> str:
		"""The result of a read of another server, outside of a dry run, whose transaction would wait for it.

		The case's user may exist in dry runs only; the setup user has at least its roles.
		"""
		frappe.db.rollback()
		with acting_as(self.setup_user):
			return await tool.start(arguments)

	def next_result(self, name: str) -> Any:
		queue = self.remaining_results[name]
		if queue is None:
			return self.case.results[name]
		if not queue:
			raise ToolError(f"The case has no further result for {name}.")
		return queue.pop(0)

	def call(self, tool: EffectTool, arguments: dict) -> str:
		with self.dry_run() as names:
			known = names.pairs()
			result = rename_all(tool.work(names.to_current(arguments)), known)
			if tool.effect is Effect.WRITE:
				self.first_documents = names.all_documents()
				self.first_rows.append([dict(known).get(row, row) for row in names.list_rows()])
		if tool.effect is Effect.WRITE:
			self.write_calls.append((tool, arguments))
		return result

	def find_records(self, check: Mapping) -> list[Mapping]:
		"""Rows that match a `record` check after all calls; a count leaves out records that the site had
		before.
		"""
		doctype, where = check["record"], check.get("where") or {}
		fields = [*(check.get("values") or {}), *where]
		if doctype in (store.MAIL, store.EVENT):
			where = {"thread": self.run, **where}
		check_where(doctype, where)
		columns = frappe.get_meta(doctype).get_valid_columns()
		fields = list(dict.fromkeys([*(name for name in fields if name in columns), "name", "modified"]))
		frappe.db.rollback()
		with acting_as(self.setup_user):
			of_site = list_checked_rows(doctype, where, fields) if "count" in check else []
		with self.dry_run(), acting_as(self.setup_user):
			return [row for row in list_checked_rows(doctype, where, fields) if row not in of_site]

	# --- one dry run ---

	@contextmanager
	def dry_run(self) -> Iterator[NameMap]:
		"""Insert the case's records, repeat the write calls so far as its user, and roll back at the end."""
		frappe.db.rollback()
		changes = None
		before, frappe.flags.huf_run = frappe.flags.huf_run, self.run
		try:
			with acting_as("Administrator"), isolation.isolated(), tracking(is_dry_run=True) as changes:
				self.set_up()
				with acting_as(self.user):
					names = NameMap(changes, self.first_documents, self.first_rows)
					for step, (tool, arguments) in enumerate(self.write_calls):
						names.step = step
						tool.work(names.to_current(arguments))
					names.step = len(self.write_calls)
					yield names
		finally:
			frappe.flags.huf_run = before
			clear_caches(changes.documents if changes else {})
			frappe.db.rollback()

	def set_up(self) -> None:
		if self.case.roles:
			self.insert_user()
		self.hide_site_records()
		with acting_as(self.setup_user):
			for values in self.case.records:
				frappe.get_doc(deepcopy(values)).insert(set_name=values.get("name"))
		if self.case.mail:
			self.insert_mail()

	def hide_site_records(self) -> None:
		"""Delete, until the rollback, the site's records of custom DocTypes that the case has records of.

		Raises UsageError for a large table: others would wait for its rows.
		"""
		for doctype in dict.fromkeys(values["doctype"] for values in self.case.records):
			if not frappe.get_meta(doctype).custom:
				continue
			if (count := frappe.db.count(doctype)) > MAX_HIDDEN_RECORDS:
				raise UsageError(
					f"{doctype} has {count:,} records here, and a case that brings its own needs a site with "
					f"{MAX_HIDDEN_RECORDS:,} at most. Run it on a site for tests."
				)
			frappe.db.delete(doctype)

	def insert_user(self) -> None:
		"""Insert the rows alone: saving a User is slow and has effects that a case does not need.

		The user permissions of the author apply as well, unless that is a System Manager.
		"""
		user = {"doctype": "User", "name": self.user, "email": self.user, "first_name": "Eval", "enabled": 1}
		frappe.get_doc({**user, "user_type": "System User"}).db_insert()
		parent = {"parent": self.user, "parenttype": "User", "parentfield": "roles"}
		for role in self.case.roles:
			frappe.get_doc({"doctype": "Has Role", "role": role, **parent}).db_insert()
		if self.setup_user != "Administrator":
			self.copy_user_permissions()

	def copy_user_permissions(self) -> None:
		own = {"user": self.setup_user}
		for name in frappe.get_all("User Permission", own, pluck="name", order_by="creation asc"):
			limit = frappe.copy_doc(frappe.get_doc("User Permission", name))
			limit.user = self.user
			limit.db_insert()

	def insert_mail(self) -> None:
		"""Insert the mail, its mailbox, and the run that answers it."""
		message, prepared = parse_message((self.case.mail or "").encode()), self.prepared_mail()
		mailbox = {
			"doctype": "Agent Mailbox",
			"mailbox_name": f"Eval {self.run}",
			"email": f"office-{self.run}@example.com",
			"run_as": self.user,
		}
		frappe.get_doc(mailbox).insert()
		row = {
			"mailbox": mailbox["mailbox_name"],
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
		run = {
			"doctype": "Agent Run",
			"status": "Started",
			"run_as": self.user,
			"reference_doctype": store.MAIL,
			"reference_name": self.run,
			"agent": self.agent.name,
		}
		frappe.get_doc(run).insert(set_name=self.run)


def unwrap_result(result: Any) -> Any:
	"""A result that the case contains. Raises ToolError if it says that the call failed or was rejected."""
	if isinstance(result, dict) and result.keys() == {"error", "type"}:
		raise ToolError(str(result["error"]))
	return result


def choose_user(author: str) -> str:
	"""The user with whose permissions a case runs: the session user if a System Manager wrote it, else its
	author, who may read the results and could otherwise write a case that reads more.

	Raises UsageError for an author who is disabled or gone.
	"""
	if "System Manager" in frappe.get_roles(author):
		return frappe.session.user
	if not frappe.db.get_value("User", author, "enabled"):
		raise UsageError(_("{0}, who saved the case last, is disabled. Save the case again.").format(author))
	return author


def check_case_roles(roles: Sequence[str], user: str) -> None:
	"""Raises UsageError for roles that the user lacks: the case would show records that they may not read."""
	own = frappe.get_roles(user)
	if "System Manager" not in own and (missing := [role for role in roles if role not in own]):
		raise UsageError(
			_(
				"The case acts with roles that {0} does not have: {1}. A System Manager can save and run it."
			).format(user, ", ".join(map(str, missing)))
		)


def check_where(doctype: str, where: Mapping[str, Any]) -> None:
	"""Raises ValidationError for what no record can match; Frappe ignores some of it."""
	meta = frappe.get_meta(doctype)
	if meta.issingle:
		raise frappe.ValidationError(f"{doctype} has settings, and no records.")
	if unknown := where.keys() - set(meta.get_valid_columns()):
		raise frappe.ValidationError(f"{doctype} has no field {', '.join(sorted(unknown))}.")
	if objects := [name for name, value in where.items() if isinstance(value, Mapping)]:
		raise frappe.ValidationError(f"The value of {', '.join(objects)} is an object.")


def list_checked_rows(doctype: str, where: Mapping, fields: Sequence[str]) -> list:
	return frappe.get_list(doctype, dict(where), list(fields), order_by="creation asc", limit_page_length=0)
