"""Words an answer from what the tools gave. Pure; says nothing that is not in a result."""

import html
import json
import re
from collections.abc import Sequence
from itertools import repeat
from typing import Any

from huf.ai.providers.offline_planner.doctypes import KNOWN_DOCTYPES
from huf.ai.providers.offline_planner.filters import Search
from huf.ai.providers.offline_planner.intents import Call, Result
from huf.ai.providers.offline_planner.phrases import say
from huf.ai.providers.offline_planner.tools import Tool, Toolbox, subject_of
from huf.ai.providers.offline_planner.words import Operation

TAG = re.compile(r"<[^<>]+>")
HIDDEN = set(
	"doctype owner creation modified modified_by docstatus idx parent parenttype parentfield".split()
)
TITLES = ("title", "subject", "full_name", "customer_name", "supplier_name", "item_name", "description")
MARKUP = re.compile(r"[\[\]<>`]")
MOST_ROWS = 20
MOST_TEXT = 2000
CELL = 120
OTHERS = 3
"""Fields shown beside a row's title."""


def word_answer(done: Sequence[tuple[Call, Sequence[Result]]]) -> str:
	"""The answer to everything that was called for a request."""
	parts = []
	for call, results in done:
		parts += map(word_result, repeat(call), call.arguments, results)
	return "\n\n".join(part for part in parts if part)


def word_result(call: Call, arguments: dict, result: Result) -> str:
	if result.error:
		return say("failed", call.language, error=clean(result.error, MOST_TEXT))
	if call.operation in (Operation.LIST, Operation.COUNT) and as_rows(result.data) is not None:
		return word_rows(call, result.data)
	if call.operation is Operation.GET and isinstance(result.data, dict):
		return word_document(call, result.data)
	if call.operation in CHANGES:
		return with_remarks(call, [word_change(call, arguments, result.data)])
	return with_remarks(call, [word_anything(call, result.data)])


CHANGES = (Operation.CREATE, Operation.UPDATE, Operation.DELETE, Operation.SUBMIT, Operation.CANCEL)


def as_rows(data: Any) -> list | None:
	rows = data.get("rows", data.get("result")) if isinstance(data, dict) else data
	return rows if isinstance(rows, list) else None


def word_rows(call: Call, data: Any) -> str:
	rows = as_rows(data)
	about = data if isinstance(data, dict) else {}
	count = max(len(rows), about.get("count") or 0)
	more = bool(about.get("more")) and count == len(rows)
	thing = thing_of(call.tool, about)
	told = {"thing": thing, "where": word_where(call.search), "count": count}
	if call.operation is Operation.COUNT or not rows:
		key = "count_more" if more else {0: "count_none", 1: "count_one"}.get(count, "count")
		return with_remarks(call, [say(key, call.language, **told)])
	lines = [say("list", call.language, **told), "", *(word_row(row, thing) for row in rows[:MOST_ROWS])]
	wanted = call.search.limit if call.search else None
	left_out = len(rows) > MOST_ROWS or (more and not wanted)
	return with_remarks(call, ["\n".join(lines), say("more", call.language) if left_out else ""])


def with_remarks(call: Call, parts: list[str]) -> str:
	search = call.search or Search()
	if search.unused:
		parts.append(say("unused", call.language, words=", ".join(search.unused)))
	if search.mine:
		parts.append(say("mine", call.language))
	return "\n\n".join(part for part in parts if part)


def word_where(search: Search | None) -> str:
	"""The filters as a reader sees them: (status = Open, description ~ milk)."""
	signs = {"like": "~", "!=": "≠"}
	shown = []
	for name, value in (search.filters if search else {}).items():
		sign, value = (signs.get(value[0], value[0]), value[1]) if isinstance(value, list) else ("=", value)
		shown.append(f"{name} {sign} {str(value).strip('%')}")
	return f" ({', '.join(shown)})" if shown else ""


def word_row(row: Any, thing: str) -> str:
	if not isinstance(row, dict):
		return f"- {clean(', '.join(map(str, row)) if isinstance(row, list) else row)}"
	title, others = title_of(row, thing)
	name = row.get("name")
	ending = f" `{name}`" if name and str(name) != title else ""
	beside = ", ".join(shown for key, value in others if (shown := word_cell(key, value)))
	return f"- **{title}**{f' ({beside})' if beside else ''}{ending}"


def word_cell(key: str, value: Any) -> str:
	if isinstance(value, bool) or value in (0, 1):
		return f"{key}: {int(value)}"
	return clean(value)


def title_of(row: dict, thing: str) -> tuple[str, list[tuple[str, Any]]]:
	"""What a row is called, and the first few of its other values."""
	known = KNOWN_DOCTYPES.get(thing, {}).get("title")
	shown = {
		name: value for name, value in row.items() if name not in HIDDEN and value not in (None, "", [], {})
	}
	key = next((key for key in (known, *TITLES, "name") if key in shown), next(iter(shown), None))
	others = [(name, value) for name, value in shown.items() if name not in (key, "name")]
	return clean(shown.get(key, "")), [pair for pair in others if not isinstance(pair[1], list | dict)][
		:OTHERS
	]


def word_document(call: Call, data: dict) -> str:
	thing = thing_of(call.tool, data)
	values = {name: value for name, value in data.items() if name not in HIDDEN}
	name = values.pop("name", "")
	lines = [
		f"- {key}: {clean(value)}" for key, value in values.items() if not isinstance(value, list | dict)
	]
	return "\n".join([f"{thing} **{clean(name)}**" if name else thing, "", *lines])


def word_change(call: Call, arguments: dict, data: Any) -> str:
	if isinstance(data, list):
		return "\n".join(word_change(call, arguments, one) for one in data)
	row = data if isinstance(data, dict) else {}
	thing = thing_of(call.tool, row)
	name = row.get("name") or arguments.get(call.tool.name_argument or "", "")
	made = call.operation in (Operation.CREATE, Operation.UPDATE)
	title = title_of(row, thing)[0] if made else ""
	shown = [f"**{title}**" if title and title != name else "", f"`{name}`" if name else ""]
	set_to = [
		f"{key} = {clean(value)}"
		for key, value in given(call.tool, arguments)
		if made and clean(value) != title
	]
	how = f" ({', '.join(set_to)})" if set_to else ""
	what = " ".join(part for part in shown if part)
	return say(call.operation.value, call.language, thing=thing, what=what, how=how).replace(" .", ".")


def given(tool: Tool, arguments: dict) -> list[tuple[str, Any]]:
	"""The field values in a call's arguments."""
	if "fieldname" in arguments:
		return [(arguments["fieldname"], arguments.get("value"))]
	values = arguments.get(tool.field_holder) if tool.field_holder else arguments
	pairs = values.items() if isinstance(values, dict) else ()
	return [(key, value) for key, value in pairs if key in tool.fields]


def word_anything(call: Call, data: Any) -> str:
	"""A result of unknown shape: rows as a list, an object by its values, text as it is."""
	if data in (None, "", [], {}):
		return say("no_result", call.language, tool=call.tool.name)
	rows = as_rows(data)
	if rows is not None:
		lines = [word_row(row, "") for row in rows[:MOST_ROWS]]
		return "\n".join(lines + ([say("more", call.language)] if len(rows) > MOST_ROWS else []))
	if isinstance(data, dict) and isinstance(data.get("summary"), str):
		return word_report(data)
	if isinstance(data, dict) and not any(isinstance(value, list | dict) for value in data.values()):
		return "\n".join(f"- {key}: {clean(value)}" for key, value in data.items())
	if isinstance(data, dict | list):
		return f"```json\n{json.dumps(data, ensure_ascii=False, indent=1)[:MOST_TEXT]}\n```"
	return clean(data, MOST_TEXT)


def word_report(data: dict) -> str:
	"""What sums itself up: the sentence, and the rows it is about."""
	lists = [value for value in data.values() if isinstance(value, list)]
	rows = [word_row(row, "") for row in lists[0][:MOST_ROWS]] if len(lists) == 1 else []
	return "\n".join([clean(data["summary"], MOST_TEXT), *([""] if rows else []), *rows])


def thing_of(tool: Tool, data: dict) -> str:
	return str(data.get("doctype") or tool.doctype or subject_of(tool) or tool.name)


def clean(value: Any, most: int = CELL) -> str:
	"""A value as text without HTML, cut to a readable length."""
	text = html.unescape(TAG.sub(" ", str(value))).strip()
	if most == CELL:
		# A record's text stays text: no image or link of somebody's making is shown in an answer.
		text = MARKUP.sub(r"\\\g<0>", " ".join(text.split()))
	return text if len(text) <= most else text[: most - 1].rstrip("\\ ") + "…"


def describe_tools(toolbox: Toolbox, language: str) -> str:
	"""The tools in plain words, one line for each thing they work on."""
	if not toolbox.tools:
		return say("no_tools", language)
	lines = [
		f"- **{thing}**: {', '.join(deeds)}" for thing, deeds in deeds_by_thing(toolbox, language).items()
	]
	for tool in toolbox.tools:
		if tool.operation is None:
			about = re.split(r"(?<=[.!?])\s", tool.description.strip())[0]
			lines.append(f"- **{tool.name.replace('_', ' ')}**" + (f": {about}" if about else ""))
	return "\n".join([say("abilities", language), "", *lines])


def deeds_by_thing(toolbox: Toolbox, language: str) -> dict[str, list[str]]:
	"""What can be done with each thing: {"ToDo": ["count and list", "create"]}."""
	able: dict[str, list[str]] = {}
	for tool in toolbox.tools:
		if tool.operation is not None:
			kind = Operation.LIST if tool.operation is Operation.COUNT else tool.operation
			deeds = able.setdefault(thing_of(tool, {}), [])
			deeds += [deed for deed in [say(f"can_{kind.value}", language)] if deed not in deeds]
	return able
