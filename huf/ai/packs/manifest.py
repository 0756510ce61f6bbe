"""Parses a pack's folder into its manifest and the documents it contains. Pure; errors name file and line.

The manifest pack.yaml has {pack, title, version, description, roles, tools, agents, triggers, mail}. Optional
files beside it: doctypes.json, records.json, evals.yaml and tools.py.
"""

import json
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from huf.ai.core.errors import UsageError
from huf.ai.core.json_text import parse_json
from huf.ai.core.yaml_lines import LineMapping, check_mapping, line_error, load_yaml

MANIFEST_FILE = "pack.yaml"
TOOLS_FILE = "tools.py"
EVALS_FILE = "evals.yaml"
UNTRUSTED = "untrusted"
"""Key of a record or an eval case: where untrusted content in it came from."""
PACK_NAME = re.compile(r"[a-z][a-z0-9_]{0,39}")
MANIFEST_KEYS = {
	"pack": str,
	"title": str,
	"version": str,
	"description": str,
	"mail": str,
	"roles": list,
	"tools": list,
	"agents": list,
	"triggers": list,
}
MAX_CHARS = {"title": 140, "version": 140, "description": 10_000}
MAX_DOCTYPE_CHARS = 61


@dataclass(frozen=True)
class PackEntry:
	"""A document of a pack. `place`: its file and line. `initial_values`: set only when it is created.
	`untrusted`: where untrusted content in it came from. `links_ahead`: to a document that is created later.
	`is_shipped`: by an app.
	"""

	doctype: str
	values: dict
	place: str
	initial_values: dict | None = None
	untrusted: str | None = None
	links_ahead: bool = False
	is_shipped: bool = False

	def fault(self, text: str) -> UsageError:
		"""The error for what is wrong with it, with its place."""
		return UsageError(f"{self.place}: {text}")


@dataclass(frozen=True)
class Pack:
	"""A parsed pack, without the entries of its mail file, evals.yaml and tools.py (see `contents.py`)."""

	name: str
	title: str
	version: str
	description: str
	folder: Path
	entries: tuple[PackEntry, ...]
	mail: str | None = None

	@property
	def has_tools(self) -> bool:
		return (self.folder / TOOLS_FILE).is_file()


@contextmanager
def naming_file(name: str) -> Iterator[None]:
	"""Prefix UsageErrors with a file name, unless they begin with it."""
	try:
		yield
	except UsageError as error:
		raise UsageError(str(error) if str(error).startswith(name) else f"{name}: {error}") from None


TEXT_KEYS = {"agent_name", "instructions_file", "model", "tool_name", "trigger_name"}
"""Keys of tools, agents and triggers by whose values something is looked up."""
TABLES: dict[str, dict[str, tuple[str, ...]]] = {
	"Agent": {"agent_tool": ("tool",), "chat_models": ("model",)},
	"DocType": {"fields": (), "permissions": ()},
}
"""Tables that are read before a document is made, with the keys that their rows need."""
NO_RIGHTS = dict.fromkeys(
	[
		"select",
		"read",
		"write",
		"create",
		"delete",
		"submit",
		"cancel",
		"amend",
		"report",
		"export",
		"import",
		"share",
		"print",
		"email",
		"if_owner",
	],
	0,
)
"""A role's rights in a DocType, all off.

A pack grants only what it lists; Frappe's defaults would grant most rights.
"""


def read_pack(folder: Path) -> Pack:
	"""Parse the pack in a folder. Raises UsageError."""
	top = read_manifest(folder)
	with naming_file(MANIFEST_FILE):
		listed = [*read_manifest_roles(top), *read_manifest_entries(top, folder)]
	entries = (
		*listed,
		*read_json_entries(folder, "doctypes.json", "DocType"),
		*read_json_entries(folder, "records.json"),
	)
	about = {key: top.get(key, "") for key in ("title", "version", "description")}
	return Pack(top["pack"], **about, folder=folder, entries=entries, mail=top.get("mail"))


def read_manifest(folder: Path) -> LineMapping:
	"""The keys of a folder's pack.yaml. Raises UsageError."""
	with naming_file(MANIFEST_FILE):
		given = load_yaml(read_pack_file(folder, MANIFEST_FILE))
		top = check_mapping(given, MANIFEST_KEYS, "a pack", 1, ("pack", "title", "version"))
		if not PACK_NAME.fullmatch(top["pack"]):
			raise line_error(top.lines["pack"], "pack is a short name of lowercase letters, digits and _.")
		for key, limit in MAX_CHARS.items():
			if len(top.get(key, "")) > limit:
				raise line_error(top.lines[key], f"{key} can have at most {limit:,} characters.")
	return top


def read_pack_file(folder: Path, name: str) -> str:
	"""The text of a file in the pack's folder; paths that lead outside are refused."""
	try:
		path = (folder / name).resolve()
	except ValueError:
		raise UsageError(f"{name!a} cannot be the name of a file.") from None
	if not path.is_relative_to(folder.resolve()):
		raise UsageError(f"{name} is not in the pack's folder.")
	try:
		return path.read_text(encoding="utf-8")
	except OSError as error:
		raise UsageError(f"{name} cannot be read: {error.strerror}.") from None
	except UnicodeDecodeError:
		raise UsageError(f"{name} cannot be read: it is not UTF-8.") from None


def read_manifest_roles(top: LineMapping) -> Iterable[PackEntry]:
	for role in top.get("roles", ()):
		if not isinstance(role, str):
			raise line_error(top.lines["roles"], "roles must be a list of names.")
		yield PackEntry(
			"Role", {"role_name": role, "desk_access": 1}, f"{MANIFEST_FILE}: Line {top.lines['roles']}"
		)


def read_manifest_entries(top: LineMapping, folder: Path) -> Iterable[PackEntry]:
	"""The tools, agents and triggers of the manifest."""
	kinds = {"tools": "Agent Tool Function", "agents": "Agent", "triggers": "Agent Trigger"}
	for key, doctype in kinds.items():
		for values in top.get(key, ()):
			if not isinstance(values, LineMapping):
				raise line_error(top.lines[key], f"{key} must be a list of mappings.")
			place = f"{MANIFEST_FILE}: Line {values.line}"
			for name in TEXT_KEYS & set(values):
				if not isinstance(values[name], str | None):
					raise line_error(values.lines[name], f"{name} must be text.")
			if doctype == "Agent":
				values = read_agent(values, folder)
			yield PackEntry(doctype, values, place)


def read_agent(values: LineMapping, folder: Path) -> LineMapping:
	"""An Agent's fields, with instructions read from their file and tools as child rows."""
	if file := values.pop("instructions_file", None):
		with naming_file(f"Line {values.lines['instructions_file']}"):
			values["instructions"] = read_pack_file(folder, file).strip()
	tools = values.pop("tools", [])
	if isinstance(tools, list):
		tools = [{"tool": each} if isinstance(each, str) else each for each in tools]
	if not is_list_of_rows(tools, "tool"):
		raise line_error(values.lines["tools"], "tools must be a list of names.")
	values["agent_tool"] = [dict(row) for row in tools]
	if not is_list_of_rows(values.get("chat_models") or [], "model"):
		raise line_error(values.lines["chat_models"], "chat_models must be a list of mappings with a model.")
	return values


def is_list_of_rows(value: Any, *required: str) -> bool:
	"""Whether it is a list of mappings, each with a text under the required keys."""
	return isinstance(value, list) and all(
		isinstance(row, dict) and all(isinstance(row.get(key), str) for key in required) for row in value
	)


def read_json_entries(folder: Path, name: str, doctype: str | None = None) -> Iterable[PackEntry]:
	"""The documents of a JSON file; `doctype`: the only DocType allowed there, None: any."""
	if not (folder / name).is_file():
		return
	try:
		documents = parse_json(read_pack_file(folder, name), has_unique_keys=True)
	except json.JSONDecodeError as error:
		raise UsageError(f"{name}: Line {error.lineno}: this is not JSON: {error.msg}.") from None
	except ValueError as error:
		raise UsageError(f"{name}: this cannot be read: {error}.") from None
	if not isinstance(documents, list):
		raise UsageError(f"{name}: this must be a list of documents.")
	for number, values in enumerate(documents, 1):
		place = f"{name}: document {number}"
		check_document(values, place, doctype)
		if values["doctype"] == "DocType":
			values["permissions"] = [NO_RIGHTS | rule for rule in values.get("permissions") or ()]
		untrusted = None if values["doctype"] == "DocType" else values.pop(UNTRUSTED, None)
		own = {k: v for k, v in values.items() if k != "doctype"}
		yield PackEntry(values["doctype"], own, place, untrusted=untrusted and str(untrusted))


def check_document(values: Any, place: str, doctype: str | None) -> None:
	if not isinstance(values, dict) or not isinstance(values.get("doctype"), str):
		raise UsageError(f"{place}: a document needs its doctype.")
	if not isinstance(values.get("name"), str | None):
		raise UsageError(f"{place}: its name must be text.")
	if doctype and values["doctype"] != doctype:
		raise UsageError(f"{place}: it must be a {doctype}, and is a {values['doctype']}.")
	if values["doctype"] == "DocType":
		check_definition(values, place)
	for key, required in TABLES.get(values["doctype"], {}).items():
		if not is_list_of_rows(values.get(key) or [], *required):
			raise UsageError(
				f"{place}: {key} must be a list of objects{''.join(f' with a {each}' for each in required)}."
			)


def check_definition(values: dict, place: str) -> None:
	"""Raise UsageError for a DocType that no pack can have."""
	name = values.get("name")
	if not (name and values.get("custom") == 1):
		raise UsageError(f'{place}: a DocType of a pack needs a name, and "custom": 1.')
	# Frappe would remove the spaces, and the pack could not find its DocType.
	if name != name.strip() or len(name) > MAX_DOCTYPE_CHARS:
		raise UsageError(
			f"{place}: a DocType's name has at most {MAX_DOCTYPE_CHARS} characters, and no spaces around it."
		)
	if values.get("is_virtual"):
		raise UsageError(f"{place}: a virtual DocType needs an app's code. Leave is_virtual out.")
