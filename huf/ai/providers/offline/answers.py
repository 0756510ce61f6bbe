"""Words answers from tool results, and adds nothing to them."""

import html
import re
from typing import Any

from huf.ai.core.json_text import parse_json, to_text
from huf.ai.providers.offline.steps import PlannedCall
from huf.ai.providers.offline.tools import TITLE_FIELDS

TAG = re.compile(r"<[^<>]+>")
MARKUP = re.compile(r"[\[\]<>`]")
HIDDEN_FIELDS = set(
	"doctype owner creation modified modified_by docstatus idx name naming_series deleted".split()
)
EDITED_FIELDS = {"note", "arguments", "result"}
"""Of the result of a call whose arguments a person has changed: `runs.approvals.describe_edit`."""
MAX_ROWS, MAX_CELLS, MAX_CELL_CHARS, MAX_TEXT_CHARS = 20, 3, 120, 2000


def word_result(content: str, call: PlannedCall) -> str:
	"""The answer to a tool result, as markdown."""
	request, (data, error) = call.command.request, read_result(content)
	say = request.language.say
	texts = [say("failed", error=to_plain_text(error, MAX_TEXT_CHARS)) if error else word_data(data, call)]
	if call.unused:
		texts.append(say("unused", words=", ".join(call.unused)))
	if call.command.tool.operation == "list" and request.mentions("mine"):
		texts.append(say("mine"))
	return "\n\n".join(texts)


def word_data(data: Any, call: PlannedCall) -> str:
	say, tool, operation = call.command.request.language.say, call.command.tool, call.command.operation
	fields = data if isinstance(data, dict) else {}
	rows = fields.get("rows", fields.get("data")) if fields else data
	if operation in ("create", "update", "delete"):
		return say(operation, thing=tool.thing, what=word_row(data))
	if isinstance(rows, list) and operation in ("list", "count"):
		return word_rows(rows, bool(fields.get("more")), call)
	if isinstance(rows, list) and rows:
		lines = [f"- {word_row(row)}" for row in rows[:MAX_ROWS]]
		return "\n".join([to_plain_text(fields["summary"]), "", *lines] if "summary" in fields else lines)
	names = [name for name in fields if name == "name" or name not in HIDDEN_FIELDS]
	lines = [f"- {name}: {text}" for name in names if (text := to_plain_text(fields[name]))]
	return "\n".join(lines) or to_plain_text(data, MAX_TEXT_CHARS) or say("no_result", tool=tool.name)


def read_result(content: str) -> tuple[Any, str | None]:
	"""A tool message as (data, error). {"error": ...}, {"success": false} and "Error ..." are errors."""
	try:
		data = parse_json(content)
	except ValueError:
		return content, content if content.lower().startswith(("error", "traceback")) else None
	if isinstance(data, dict) and data.keys() == EDITED_FIELDS:
		return read_result(to_text(data["result"]))
	is_error = isinstance(data, dict) and (data.get("error") or data.get("success") is False)
	return data, str(data.get("error") or data.get("message") or content) if is_error else None


def word_rows(rows: list, has_more: bool, call: PlannedCall) -> str:
	command, say = call.command, call.command.request.language.say
	filters = call.arguments.get("filters", {}).items()
	signs = [(name, value if isinstance(value, list) else ["=", value]) for name, value in filters]
	where = ", ".join(f"{name} {sign} {str(value).strip('%')}" for name, (sign, value) in signs)
	values = {"thing": command.tool.thing, "count": len(rows), "where": f" ({where})" if where else ""}
	if command.operation == "count" or not rows:
		sentence = {0: "count_none", 1: "count_one"}.get(len(rows), "count_more" if has_more else "count")
		return say(sentence, **values)
	lines = [say("list", **values), "", *[f"- {word_row(row)}" for row in rows[:MAX_ROWS]]]
	return "\n".join([*lines, "", say("more")] if has_more or len(rows) > MAX_ROWS else lines)


def word_row(row: Any) -> str:
	"""A record as one line: **title** (a few values) `name`."""
	if not isinstance(row, dict):
		return to_plain_text(row)
	scalars = {name: value for name, value in row.items() if isinstance(value, str | int | float)}
	cells = {
		name: to_plain_text(value) for name, value in scalars.items() if value and name not in HIDDEN_FIELDS
	}
	title = next((cells.pop(name) for name in TITLE_FIELDS if name in cells), None)
	others = ", ".join(list(cells.values())[:MAX_CELLS])
	name = to_plain_text(row.get("name"))
	parts = [f"**{title}**" if title else "", f"({others})" if others else "", f"`{name}`" if name else ""]
	return " ".join(part for part in parts if part)


def to_plain_text(value: Any, max_chars: int = MAX_CELL_CHARS) -> str:
	"""A value as one line of text without HTML, links and images."""
	text = "" if value is None else html.unescape(TAG.sub(" ", str(value))).strip()
	if max_chars == MAX_CELL_CHARS:
		text = MARKUP.sub(r"\\\g<0>", " ".join(text.split()))
	return text if len(text) <= max_chars else text[: max_chars - 1].rstrip("\\ ") + "…"
