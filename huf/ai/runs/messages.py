"""Builds the messages that begin a run: instructions, summary, history, prompt and files.

A message's files are read with the user's permissions. `storage/message_files.py` then attaches them to the
conversation, which makes them readable to its readers.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache, partial

import frappe
from frappe import _

from huf.ai.agents.function_tool import create_function_tool
from huf.ai.agents.manager import AgentManager
from huf.ai.core.attachments import (
	IMAGE_TYPES,
	READ_ATTACHMENT,
	MessageFile,
	MessageFiles,
	find_image_type,
	opening_messages,
	render_files,
)
from huf.ai.core.errors import ToolError, UsageError
from huf.ai.core.files import get_ending, get_full_file_name, read_file_content
from huf.ai.core.settings import get_settings
from huf.ai.core.types import OFFLINE, AgentRequest
from huf.ai.knowledge.chunking import Part
from huf.ai.knowledge.memory import offer_facts
from huf.ai.knowledge.reader_process import read_file
from huf.ai.knowledge.reading import READERS
from huf.ai.loop.context_window import DEFAULT_WINDOW, PIECE_CHARS, PLACE_PROPERTIES, read_rest
from huf.ai.providers.models import find_context_window, read_model_facts
from huf.ai.runs.admission import admit_file
from huf.ai.storage.history import read_history
from huf.ai.storage.message_files import CONVERSATION, read_conversation_files
from huf.ai.storage.recorded_run import Opening, open_with_history
from huf.ai.storage.untrusted_records import OTHERS
from huf.ai.tools.schemas import closed_object, text_schema
from huf.ai.tools.taint import CHANNELS
from huf.ai.tools.types import MEMORY_TYPES

MAX_FILES = 10
"""Per message."""
MAX_BYTES = 20_000_000
MAX_IMAGE_BYTES = 3_750_000
"""5 MB when encoded, the least that all providers accept."""
MAX_TEXT_CHARS = 200_000
"""Limit for the text of a message's files, however large the context window."""
DESCRIPTION = (
	"Read more of an attached file that was truncated. Returns its text from `offset` on; with `find`, from "
	"the next match at or after `offset`."
)
PARAMETERS = closed_object({"file": text_schema("The file's name"), **PLACE_PROPERTIES}, ["file"])


def build_messages(
	manager: AgentManager,
	conversation: str,
	request: AgentRequest,
	without_runs: Sequence[str] = (),
	record: tuple[str | None, ...] = (),
	holder: dict | None = None,
) -> Opening:
	"""The messages that begin a run.

	`without_runs`: runs whose messages are omitted, such as queued ones. `record`: the document that the run
	is about, as (DocType, name). `holder`: owner and channel of a conversation that is about to be created.
	"""
	instructions = manager.instructions
	origins: tuple[str, ...] = ()
	slots = manager.agent_doc.agent_tool
	# Agents without memory read nothing.
	if any(frappe.get_cached_doc("Agent Tool Function", slot.tool).types in MEMORY_TYPES for slot in slots):
		holder = holder or read_holder(conversation)
		instructions, origins = add_facts(instructions, manager, holder, record)
	# Offline agents follow rules, not plans.
	plan = request.routed.plan if request.routed and manager.model != OFFLINE else ()
	prompt = add_plan(request.prompt, plan), request.message_files
	if request.history is not None:
		messages = opening_messages(instructions, request.history, *prompt)
		return Opening(messages, messages, origins=origins)
	past = read_history(conversation, manager.history_limit, without_runs)
	messages = opening_messages(past.append_to(instructions), (), *prompt)
	return replace(open_with_history(messages, conversation, past, without_runs), origins=origins)


def add_plan(prompt: str, plan: Sequence[str]) -> str:
	"""The prompt with the steps suggested for it.

	They are no instructions of the agent's author: a caller may suggest them.
	"""
	if not plan:
		return prompt
	steps = "\n".join(f"{number}. {step}" for number, step in enumerate(plan, 1))
	return f"{prompt}\n\nSuggested steps; take others where these do not fit:\n{steps}".strip()


def add_facts(
	instructions: str, manager: AgentManager, holder: dict | None, record: tuple[str | None, ...]
) -> tuple[str, tuple[str, ...]]:
	"""(the instructions with the facts that the agent remembers, the origins of outside content in them).

	Facts about the user are added only in the user's own conversation, without outsiders or people with whom
	it is shared: they could ask for these facts, and read the answers.
	"""
	is_private = bool(
		holder
		and holder["owner"] == frappe.session.user
		and holder["channel"] not in CHANNELS
		and not holder.get("is_shared")
	)
	facts, has_others = offer_facts(manager.agent_doc.name, record, is_private)
	return f"{instructions}\n\n{facts}" if facts else instructions, (OTHERS,) if has_others else ()


def read_holder(conversation: str) -> dict | None:
	holder = frappe.db.get_value(CONVERSATION, conversation, ["owner", "channel"], as_dict=True)
	share = {"share_doctype": CONVERSATION, "share_name": conversation, "read": 1}
	return holder and {**holder, "is_shared": bool(frappe.db.exists("DocShare", share))}


def describe_limits() -> dict:
	"""Limits of attachments: {endings, images: endings, max_files, max_bytes, max_image_bytes}."""
	return {
		"endings": sorted(READERS),
		"images": sorted(IMAGE_TYPES),
		"max_files": MAX_FILES,
		"max_bytes": MAX_BYTES,
		"max_image_bytes": MAX_IMAGE_BYTES,
	}


def read_attached_files(wanted: Sequence[str], user: str, provider: str | None, model: str) -> MessageFiles:
	"""Read the Files (by name or URL) that the user attaches to a message. Writes nothing.

	Raises PermissionError for a file that the user may not read, UsageError for files that are too large, too
	many or unreadable.
	"""
	if len(wanted) > MAX_FILES:
		raise UsageError(_("At most {0} files fit into one message.").format(MAX_FILES))
	files, texts = [], []
	for each in dict.fromkeys(wanted):
		file = admit_file(each, user)
		message_file, text = read_attached_file(file)
		files.append(message_file)
		if text is not None:
			texts.append((message_file.file_name, text))
	images = [each.file_name for each in files if each.kind == "image"]
	# As many characters as the window has tokens: about a quarter of it.
	max_chars = min(
		MAX_TEXT_CHARS,
		read_model_facts(model).window or find_context_window(provider, model) or DEFAULT_WINDOW,
	)
	return MessageFiles(tuple(files), render_files(texts, images, max_chars))


def read_attached_file(file) -> tuple[MessageFile, str | None]:
	"""A File and its text, which is empty for images. Raises UsageError."""
	name = get_full_file_name(file)
	try:
		content = read_file_content(file)
	except OSError:
		raise UsageError(_("{0} is no longer on this site. Attach it again.").format(name)) from None
	ending = get_ending(name)
	is_image = ending in IMAGE_TYPES
	max_bytes = MAX_IMAGE_BYTES if is_image else MAX_BYTES
	if len(content) > max_bytes:
		raise UsageError(
			_("{0} is too large: at most {1} MB can be attached.").format(name, f"{max_bytes / 1_000_000:g}")
		)
	if is_image and not find_image_type(content):
		raise UsageError(_("{0} is not a picture that models can read. Save it as PNG or JPEG.").format(name))
	kind = "image" if is_image else "text"
	title = " ".join((file.file_name or name).split())
	message_file = MessageFile(file.name, title, file.file_url, len(content), kind)
	return message_file, None if is_image else read_file_text(name, content)


def read_file_text(name: str, content: bytes) -> str:
	"""The text of a file. Raises UsageError if it is unreadable or has none."""
	text = "\n\n".join(map(render_part, read_file(name, content)))
	if not text:
		raise UsageError(
			_("No text could be read from {0}. If it is a scan, send its pages as images.").format(name)
		)
	return text


def render_part(part: Part) -> str:
	"""A part of a file, preceded by its page or sheet. Headings are already in its text."""
	place = f"[Page {part.page}]" if part.page else part.heading and f"# {part.heading}"
	return part.text if not place or part.text.lstrip().startswith("#") else f"{place}\n{part.text}"


def add_file_reader(agent, messages: Sequence[dict], conversation: str):
	"""The agent, with a tool that continues reading the conversation's files if one was cut off."""
	if not any(READ_ATTACHMENT in (each.get("content") or "") for each in messages):
		return agent
	read_it = partial(read_attachment, conversation)
	timeout = get_settings().tool_timeout
	tool = create_function_tool(READ_ATTACHMENT, DESCRIPTION, PARAMETERS, read_it, timeout=timeout)
	return agent.clone(tools=[*agent.tools, tool])


def read_attachment(conversation: str, file: str, offset: int = 0, find: str = "") -> str:
	"""Read a part of a file of the conversation, if the user may read it. Raises ToolError."""
	named = {each.file_name: each for each in read_conversation_files(conversation) if each.kind == "text"}
	if file not in named:
		raise ToolError(f"There is no file {file!r} here. The files are: {', '.join(named) or 'none'}.")
	admit_file(named[file].name, frappe.session.user)
	return read_rest(file, whole_text(frappe.local.site, named[file].name), PIECE_CHARS, offset, find)


@lru_cache(maxsize=8)
def whole_text(site: str, name: str) -> str:
	file = frappe.get_doc("File", name)
	try:
		content = read_file_content(file)
	except OSError:
		raise ToolError(f"{file.file_name} is no longer on this site.") from None
	return read_file_text(get_full_file_name(file), content)
