"""A pack's folder read: what it is called, and every document it brings. Knows no site, and makes nothing.

pack.yaml: {pack, title, version, description, roles, tools, agents, triggers, mail}, and beside it doctypes.json, records.json,
evals.yaml and tools.py, each of which may be missing. What is wrong is told with its file and line.
"""

import json
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from huf.ai.core.errors import UsageError
from huf.ai.core.yaml_lines import LineMapping, check_mapping, line_error, load_yaml

FILE, TOOLS, EVALS = "pack.yaml", "tools.py", "evals.yaml"
NAME = re.compile(r"[a-z][a-z0-9_]{0,39}")
KEYS = {
	**{"pack": str, "title": str, "version": str, "description": str, "mail": str},
	**{"roles": list, "tools": list, "agents": list, "triggers": list},
}


@dataclass(frozen=True)
class Entry:
	"""A document that a pack brings. `place`: where it stands. `at_first`: values that only a new one is given."""

	doctype: str
	values: dict
	place: str
	at_first: dict | None = None


@dataclass(frozen=True)
class Pack:
	"""`entries` without what stands in the files of mail and evals and in tools.py, which others know how to read."""

	name: str
	title: str
	version: str
	description: str
	folder: Path
	entries: tuple[Entry, ...]
	mail: str | None = None

	@property
	def has_tools(self) -> bool:
		return (self.folder / TOOLS).is_file()


@contextmanager
def in_file(name: str) -> Iterator[None]:
	"""What is wrong inside is told with the file's name."""
	try:
		yield
	except UsageError as error:
		raise UsageError(f"{name}: {error}") from None


NO_RIGHTS = dict.fromkeys(
	(
		*("select", "read", "write", "create", "delete", "submit", "cancel", "amend"),
		*("report", "export", "import", "share", "print", "email", "if_owner"),
	),
	0,
)
"""Of a role in a DocType. A right that a pack does not give is not had: Frappe gives most of them where nothing is said."""


def read_pack(folder: Path) -> Pack:
	"""Raises UsageError for what is no pack."""
	with in_file(FILE):
		top = check_mapping(load_yaml(read_text(folder, FILE)), KEYS, "a pack", 1)
		for key in ("pack", "title", "version"):
			if not top.get(key):
				raise line_error(top.line, f"a pack needs {key}.")
		if not NAME.fullmatch(top["pack"]):
			raise line_error(top.lines["pack"], "pack must be a short name of small letters, digits and _.")
		listed = [*read_roles(top), *read_listed(top, folder)]
	entries = (*listed, *read_json(folder, "doctypes.json", "DocType"), *read_json(folder, "records.json"))
	about = {key: top.get(key, "") for key in ("title", "version", "description")}
	return Pack(top["pack"], **about, folder=folder, entries=entries, mail=top.get("mail"))


def read_text(folder: Path, name: str) -> str:
	"""A file of the pack; none from elsewhere."""
	path = (folder / name).resolve()
	if not path.is_relative_to(folder.resolve()):
		raise UsageError(f"{name} is not in the pack's folder.")
	try:
		return path.read_text(encoding="utf-8")
	except (OSError, UnicodeDecodeError) as error:
		raise UsageError(f"{name} cannot be read: {error}") from None


def read_roles(top: LineMapping) -> Iterable[Entry]:
	for role in top.get("roles", ()):
		if not isinstance(role, str):
			raise line_error(top.lines["roles"], "roles must be a list of names.")
		yield Entry("Role", {"role_name": role, "desk_access": 1}, f"{FILE}: Line {top.lines['roles']}")


def read_listed(top: LineMapping, folder: Path) -> Iterable[Entry]:
	"""The documents that stand in the file itself."""
	kinds = {"tools": "Agent Tool Function", "agents": "Agent", "triggers": "Agent Trigger"}
	for key, doctype in kinds.items():
		for values in top.get(key, ()):
			if not isinstance(values, LineMapping):
				raise line_error(top.lines[key], f"{key} must be a list of mappings.")
			place = f"{FILE}: Line {values.line}"
			if doctype == "Agent":
				values = read_agent(values, folder)
			yield Entry(doctype, values, place)


def read_agent(values: LineMapping, folder: Path) -> LineMapping:
	"""An Agent's fields, with its instructions from their file and its tools as rows."""
	if file := values.pop("instructions_file", None):
		with in_file(f"Line {values.lines['instructions_file']}"):
			values["instructions"] = read_text(folder, file).strip()
	tools = values.pop("tools", [])
	if not isinstance(tools, list) or not all(isinstance(each, str | dict) for each in tools):
		raise line_error(values.lines["tools"], "tools must be a list of names.")
	values["agent_tool"] = [{"tool": each} if isinstance(each, str) else dict(each) for each in tools]
	return values


def read_json(folder: Path, name: str, doctype: str | None = None) -> Iterable[Entry]:
	"""The documents of a JSON file, all of this DocType where one is given."""
	if not (folder / name).is_file():
		return
	try:
		documents = json.loads(read_text(folder, name))
	except json.JSONDecodeError as error:
		raise UsageError(f"{name}: Line {error.lineno}: this is not JSON: {error.msg}.") from None
	if not isinstance(documents, list):
		raise UsageError(f"{name}: this must be a list of documents.")
	for number, values in enumerate(documents, 1):
		place = f"{name}: document {number}"
		check_document(values, place, doctype)
		if values["doctype"] == "DocType":
			values["permissions"] = [NO_RIGHTS | rule for rule in values.get("permissions", ())]
		yield Entry(values["doctype"], {k: v for k, v in values.items() if k != "doctype"}, place)


def check_document(values: Any, place: str, doctype: str | None) -> None:
	if not isinstance(values, dict) or not isinstance(values.get("doctype"), str):
		raise UsageError(f"{place}: a document needs its doctype.")
	if doctype and values["doctype"] != doctype:
		raise UsageError(f"{place}: it must be a {doctype}, and is a {values['doctype']}.")
	if doctype == "DocType" and not (values.get("name") and values.get("custom") == 1):
		raise UsageError(f'{place}: a DocType of a pack needs a name, and "custom": 1.')
