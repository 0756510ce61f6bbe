"""Finds untrusted content in the context of a run, and sorts what the run has read by author.

Everything is derived from records: the calls and messages of the run's conversation, its trigger, and the
runs that called it. Resumed, replayed and branched runs are therefore treated like the original. Content that
entered a conversation without a journal is noted on its Agent Conversation.
"""

from collections.abc import Iterable, Iterator

import frappe
from frappe.utils import add_to_date, now_datetime

from huf.ai.core.flow import TYPED, ReadText, Text, TextsByAuthor, index_text
from huf.ai.core.stored_text import clip
from huf.ai.storage.drafts import is_waiting_notice
from huf.ai.storage.recorded_run import read_opening, read_recorded
from huf.ai.storage.untrusted_records import OTHERS, find_marked, find_outsider
from huf.ai.tools.reads import MAIL_DOCTYPES

MAX_READ_CHARS = 2_000_000
"""Limit for the texts of a run that are compared with its calls; the latest count."""
RUNS = """(run.conversation = %(conversation)s or run.name in (
	select message.run from `tabAgent Message` message where message.conversation = %(conversation)s))"""
"""SQL: a condition for the runs of a conversation, and of those that it was branched from."""
CALLS = f"from `tabAgent Tool Call` made join `tabAgent Run` run on run.name = made.run where {RUNS}"
"""SQL: the calls of these runs."""
CHANNELS = {"mail": "mail", "webhook": "webhook", "mcp": "a connected program", "a2a": "a connected agent"}
"""Channels used by outsiders, or by programs and agents that may have read anything, with their origins."""
CALLER = "earlier messages of the caller"
"""The origin of assistant messages sent by a caller that do not come from a recent run of the caller."""
RECENT_DAYS, MAX_ASKED = 7, 50
"""How old the runs may be whose answers a caller sends back, and how many may have the same prompts."""


def find_origins(run: str | None) -> tuple[str, ...]:
	"""Where the untrusted content in the context of a run came from: its own, its conversation's, and that of
	the runs that called it. Empty: there is none.
	"""
	found: dict[str, None] = {}
	for row in list_run_chain(run):
		if origin := find_start_origin(row):
			found[origin] = None
		found.update(dict.fromkeys(row.origins))
		# The authors of attached files are unknown, so these are untrusted.
		read = frappe.db.sql(
			f"""select 'files' from `tabAgent Message`
			where conversation = %(conversation)s and attachments != ''
			union select made.origin {CALLS} and made.origin is not null""",
			{"conversation": row.conversation},
			pluck=True,
		)
		found.update(dict.fromkeys(origin for text in read for origin in text.splitlines()))
	return tuple(found)


def find_history_origins(agent: str, user: str, history: Iterable[dict]) -> tuple[str, ...]:
	"""The origins of untrusted content in earlier messages sent by a caller.

	An answer of one of the caller's recent runs carries what that run had read; another one may carry
	anything.
	"""
	prompts = pair_answers(history)
	if not prompts:
		return ()
	since = add_to_date(now_datetime(), days=-RECENT_DAYS)
	own = {"agent": agent, "run_as": user, "creation": [">", since]}
	same = {**own, "response": ["in", list(prompts)]}
	rows = frappe.get_all("Agent Run", same, ["name", "response"], order_by="creation asc")
	given = [each.name for each in rows]
	rest = prompts.keys() - {each.response for each in rows}
	if rest:
		# Clients that read a stream have the texts of all steps; the response is the last one.
		same = {**own, "prompt": ["in", [prompts[each] for each in rest]]}
		asked = frappe.get_all(
			"Agent Run", same, pluck="name", order_by="creation asc", limit_page_length=MAX_ASKED + 1
		)
		for run in asked if len(asked) <= MAX_ASKED else ():
			texts = list_streamed_texts(run)
			if known := {each for each in prompts if strip_spaces(each) in texts}:
				given.append(run)
				rest -= known
	found: dict[str, None] = {CALLER: None} if rest else {}
	for run in given:
		found.update(dict.fromkeys(find_origins(run)))
	return tuple(found)


def pair_answers(history: Iterable[dict]) -> dict[str, str]:
	"""The answers in a client's history, each with the message before it, without notices of approvals."""
	found: dict[str, str] = {}
	prompt = ""
	for each in history:
		text = each["content"] or ""
		if each["role"] == "user":
			prompt = text
		elif each["role"] == "assistant":
			before, _, last = text.rpartition("\n\n")
			found[clip(before if is_waiting_notice(last) else text)] = prompt
	found.pop("", None)
	return found


def list_streamed_texts(run: str) -> set[str]:
	"""The texts that a reader of the run's stream received: of each step, and all together."""
	texts = [strip_spaces(reply.text) for _, reply in sorted(read_recorded(run).replies.items())]
	return {*texts, strip_spaces(" ".join(texts))}


def strip_spaces(text: str) -> str:
	"""The text with single spaces, because clients change white space."""
	return " ".join(text.split())


def list_run_chain(run: str | None) -> Iterator:
	"""The rows of a run and of the runs that called it, with `channel` and `origins` of the conversation."""
	while run:
		rows = frappe.db.sql(
			"""select run.name, run.agent, run.conversation, run.prompt, run.`trigger`, run.reference_doctype,
			run.reference_name, run.parent_run, run.run_as, conv.channel, conv.origin from `tabAgent Run` run
			left join `tabAgent Conversation` conv on conv.name = run.conversation where run.name = %s""",
			(run,),
			as_dict=True,
		)
		if not rows:
			return
		row = rows[0]
		row.origins = (row.origin or "").splitlines()
		yield row
		run = row.parent_run


def find_start_origin(row) -> str | None:
	"""The origin of untrusted content that started a run, or an earlier run of its conversation.

	None: a person or the site started it.
	"""
	if row.channel in CHANNELS or row.reference_doctype in MAIL_DOCTYPES:
		return CHANNELS.get(row.channel, "mail")
	if row.reference_doctype and row.reference_name:
		doctype, names = row.reference_doctype, [row.reference_name]
		if origin := find_marked(doctype, names) or find_outsider(doctype, names):
			return origin
	return find_earlier_origin(row.conversation)


def find_earlier_origin(conversation: str | None) -> str | None:
	"""The same for all runs of a conversation, and of those that it was branched from."""
	found = frappe.db.sql(
		f"""select marked.reference_doctype, marked.reference_name from `tabAgent Run` run
		join `tabAgent Untrusted Record` marked on marked.reference_doctype = run.reference_doctype
			and marked.reference_name = run.reference_name
		where {RUNS} and marked.cleared_by is null
		union all select 'trigger', started.name from `tabAgent Run` run
		join `tabAgent Trigger` started on started.name = run.`trigger`
		where {RUNS} and (started.untrusted = 1 or started.trigger_type = 'Webhook')
		union all select 'trigger', run.`trigger` from `tabAgent Run` run
		join `tabAgent Untrusted Record` marked on marked.reference_doctype = 'Agent Trigger'
			and marked.reference_name = run.`trigger` and marked.creation >= run.creation
		where {RUNS} and marked.cleared_by is null
		union all select '', conv.channel from `tabAgent Run` run
		join `tabAgent Conversation` conv on conv.name = run.conversation
		where {RUNS} and conv.channel in %(channels)s limit 1""",
		{"conversation": conversation, "channels": tuple(CHANNELS)},
	)
	return next((f"{kind} {name}" if kind else CHANNELS[name] for kind, name in found), None)


def read_evidence(run: str, settings: str = "") -> TextsByAuthor:
	"""The texts that a run has read, by author. `settings`: text of the agent's record that names
	destinations.
	"""
	named, untrusted, later = [settings], [], []
	for row in list_run_chain(run):
		start = find_start_origin(row)
		messages = read_messages(row.conversation)
		earlier = read_earlier_texts(row.name)
		named.append(read_author_texts(row))
		by_person = []
		for each in messages:
			if outside := find_outside_author(each, row, start):
				untrusted.append((outside, each.content or ""))
			else:
				by_person.append(each.content or "")
		if start:
			untrusted.append((start, ""))
		else:
			by_person.append(row.prompt or "")
			# With one message on record, the caller sent those before it.
			by_person += earlier["user"] if len(messages) == 1 else []
		if not row.parent_run or not find_origins(row.parent_run):
			named += by_person
		untrusted += [(origin, text) for origin in row.origins for text in ("", *earlier["assistant"])]
		untrusted += [
			("files", each.attached_text or each.attachments) for each in messages if each.attachments
		]
		for made in read_conversation_calls(row.conversation):
			if made.origin:
				origin = min(made.origin.splitlines(), key=lambda each: each.startswith(TYPED))
				untrusted.append((origin, made.result or ""))
			elif untrusted:
				later.append((made.tool, made.result))
	return TextsByAuthor(Text(*named), to_texts(untrusted), to_texts(later))


def find_outside_author(message, run, start: str | None) -> str | None:
	"""The origin of a message; None if the run's user or the site wrote it.

	`start`: see `find_start_origin`.
	"""
	if message.by_person:
		return OTHERS if message.author != run.run_as else None
	# The author of a message whose run was deleted is no longer known.
	return start or (next(iter(run.origins), None) if message.is_orphan else None)


def read_earlier_texts(run: str) -> dict[str, list[str]]:
	"""{role: texts} of the messages before a run's own, as its model read them."""
	found: dict[str, list[str]] = {"user": [], "assistant": []}
	for each in read_opening(frappe.db.get_value("Agent Run", run, "opening"))[:-1]:
		if each["role"] in found and isinstance(each.get("content"), str):
			found[each["role"]].append(each["content"])
	return found


def read_author_texts(row) -> str:
	"""The texts written by the authors of the agent and its trigger."""
	instructions = frappe.get_cached_value("Agent", row.agent, "instructions") or ""
	prompt = row.trigger and frappe.db.get_value("Agent Trigger", row.trigger, "prompt")
	return f"{instructions}\n{prompt or ''}"


def read_messages(conversation: str | None) -> list:
	"""The messages of a conversation that are no agent's; `by_person`: whether a person, `author`, wrote it
	here; `is_orphan`: whether its run was deleted.
	"""
	return frappe.db.sql(
		"""select message.content, message.attachments, message.attached_text, run.run_as as author,
			run.name is null as is_orphan, run.name is not null and coalesce(run.`trigger`, '') = ''
			and coalesce(run.reference_name, '') = ''
			and coalesce(conv.channel, '') not in %(channels)s as by_person
		from `tabAgent Message` message left join `tabAgent Run` run on run.name = message.run
		left join `tabAgent Conversation` conv on conv.name = run.conversation
		where message.conversation = %(conversation)s and message.role = 'user' and message.kind = 'Message'
		order by message.sequence""",
		{"conversation": conversation or "", "channels": tuple(CHANNELS)},
		as_dict=True,
	)


def read_conversation_calls(conversation: str | None) -> list:
	"""The calls of a conversation in order, with their results.

	Retention removes results; later answers may still repeat what was untrusted in them.
	"""
	return frappe.db.sql(
		f"""select made.tool, made.result, made.origin {CALLS}
			and (made.result is not null or made.origin is not null)
		order by made.creation, made.step, made.position""",
		{"conversation": conversation},
		as_dict=True,
	)


def to_texts(found: list[tuple[str, str]]) -> list[ReadText]:
	"""The texts with their origins, up to MAX_READ_CHARS of the latest."""
	texts, room = [], MAX_READ_CHARS
	for origin, text in reversed(found):
		texts.append(ReadText(origin, index_text(text[:room])))
		room = max(0, room - len(text))
	return texts


def find_mail(run: str | None) -> str | None:
	"""The Agent Mail that a run, or one of its parent runs, is about."""
	return next(
		(row.reference_name for row in list_run_chain(run) if row.reference_doctype == "Agent Mail"), None
	)
