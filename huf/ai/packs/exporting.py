"""Exports agents (with tools, triggers, knowledge, mail rules, eval cases), DocTypes and their records as a
pack.

Reads with the session user's permissions. Secrets, users and run-time values of this site are left out.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import frappe

from huf.ai.core.errors import UsageError
from huf.ai.core.grouping import group_pairs
from huf.ai.knowledge.store import SOURCE
from huf.ai.mail.config import write_config
from huf.ai.mail.dispatch import read_rules
from huf.ai.mail.rules import Rule
from huf.ai.packs.dumping import (
	TOOL,
	dump_agent,
	dump_cases,
	dump_doctypes,
	dump_records,
	dump_source,
	dump_tool,
	dump_trigger,
	get_readable_doc,
	is_custom,
	list_exported_names,
	to_json,
	to_yaml,
)
from huf.ai.packs.entry_checks import HIDDEN_CHARS
from huf.ai.packs.manifest import EVALS_FILE, MANIFEST_FILE, PACK_NAME
from huf.ai.packs.renaming import get_document_key
from huf.ai.tools.schemas import TABLE_TYPES
from huf.ai.tools.types import KNOWLEDGE

RULES_FILE = "mail.yaml"
BUILT_IN = {"Administrator", "All", "Guest", "Desk User", "System Manager", "Huf Manager", "Huf User"}


@dataclass(frozen=True)
class ExportedRecords:
	"""What a pack gets from the site: documents, DocTypes as JSON values, and mail rules."""

	agents: list
	tools: list
	triggers: list
	sources: list
	definitions: list[dict]
	rules: list[Rule]


def export_pack(
	name: str,
	agents: Iterable[str] = (),
	doctypes: Iterable[str] = (),
	sources: Iterable[str] = (),
	with_records: bool = False,
	about: Mapping[str, Any] | None = None,
) -> dict[str, str]:
	"""The files of a pack as {path: text}, with the agents that these agents call and their Knowledge
	Sources.

	`about`: keys of the manifest that the export does not determine: title, version, description, and roles
	to add. Raises UsageError for what a pack cannot contain, PermissionError for what the user may not read.
	"""
	if not PACK_NAME.fullmatch(name):
		raise UsageError(
			f"The folder's name {name!r} cannot be a pack's name. Use up to 40 lower-case letters, digits "
			"and _, with a letter first."
		)
	found = collect_records(agents, doctypes, sources)
	prompt_files = name_prompt_files(doc.name for doc in found.agents)
	files = {prompt_files[doc.name]: doc.instructions or "" for doc in found.agents}
	if found.rules:
		files[RULES_FILE] = write_config(found.rules, ())
	manifest = build_manifest(name, found, prompt_files, about or {})
	files[MANIFEST_FILE] = to_yaml({key: value for key, value in manifest.items() if value})
	if found.definitions:
		files["doctypes.json"] = to_json(found.definitions)
	records = [each for d in found.definitions if with_records for each in dump_records(d["name"])]
	records += map(dump_source, found.sources)
	if records or (with_records and found.definitions):
		files["records.json"] = to_json(records)
	if cases := [case for doc in found.agents for case in dump_cases(doc.name)]:
		files[EVALS_FILE] = to_yaml(cases)
	return files


def collect_records(
	agents: Iterable[str], doctypes: Iterable[str], sources: Iterable[str]
) -> ExportedRecords:
	"""Raises UsageError for a name that no pack may have."""
	docs, own_tools = read_agents(agents)
	agent_names = [doc.name for doc in docs]
	names = list_exported_names("Agent Trigger", {"agent": ["in", agent_names]})
	triggers = [get_readable_doc("Agent Trigger", each) for each in names]
	named = add_linked_doctypes([*doctypes, *list_custom_doctypes(own_tools, triggers)])
	found = read_exported_sources(docs, own_tools, named, sources)
	definitions = dump_doctypes(add_linked_doctypes([*named, *(each.reference_doctype for each in found)]))
	check_exported_names([*docs, *own_tools, *triggers, *found])
	rules = [rule for rule in read_rules() if rule.profile in agent_names]
	return ExportedRecords(docs, own_tools, triggers, found, definitions, rules)


def build_manifest(
	name: str, found: ExportedRecords, prompt_files: Mapping[str, str], about: Mapping[str, Any]
) -> dict[str, Any]:
	roles = collect_roles([*found.agents, *found.tools, *found.sources], found.definitions)
	return {
		"pack": name,
		"title": name.replace("_", " ").capitalize(),
		"version": "1.0",
		"description": None,
		**about,
		"roles": sorted(roles | list_kept_roles(about)),
		"tools": list(map(dump_tool, found.tools)),
		"agents": [dump_agent(doc, prompt_files[doc.name]) for doc in found.agents],
		"triggers": list(map(dump_trigger, found.triggers)),
		"mail": RULES_FILE if found.rules else None,
	}


def read_agents(names: Iterable[str]) -> tuple[list, list]:
	"""The agents, with those that they call; and their tools, without those that apps provide."""
	wanted = [*names]
	agents: dict[str, Any] = {}
	tools: dict[str, Any] = {}
	for name in wanted:  # the loop appends the agents that it finds
		doc = get_readable_doc("Agent", name)
		if doc.name not in agents:
			agents[doc.name] = doc
			used = [get_readable_doc(TOOL, row.tool) for row in doc.agent_tool]
			tools |= {tool.name: tool for tool in used if tool.types != "App Provided"}
			wanted += [tool.agent for tool in used if tool.agent]
	return [*agents.values()], [*tools.values()]


def read_exported_sources(agents: list, tools: list, doctypes: list[str], named: Iterable[str]) -> list:
	"""The Knowledge Sources `named` and those of the agents, on the site's own DocTypes, which the pack
	contains as well. Of an agent that searches all sources, those on the exported `doctypes`.

	Files and addresses stay here, because they are contents of this site, and so do sources on the documents
	of an app, which a pack may not open to agents.
	"""
	if not frappe.has_permission("DocType", "read"):
		return []
	names = [*named, *(row.source for agent in agents for row in agent.knowledge)]
	searching = {tool.name for tool in tools if tool.types == KNOWLEDGE}
	if any(not agent.knowledge and searching & {row.tool for row in agent.agent_tool} for agent in agents):
		names += list_exported_names(SOURCE, {"reference_doctype": ["in", doctypes]})
	docs = [get_readable_doc(SOURCE, name) for name in dict.fromkeys(names)]
	return [doc for doc in docs if doc.source_type == "DocType" and is_custom(doc.reference_doctype)]


def check_exported_names(docs: list) -> None:
	for doc in docs:
		if HIDDEN_CHARS.search(doc.name):
			raise UsageError(
				f"The name of {doc.doctype} {doc.name!a} has a line break or an invisible character, which "
				"no pack may have. Rename it."
			)


def list_custom_doctypes(tools: list, triggers: list) -> list[str]:
	"""The site's own DocTypes that the tools concern and the triggers watch."""
	# Users who may not read DocTypes export triggers without the DocTypes that they watch.
	watched = triggers if frappe.has_permission("DocType", "read") else ()
	return [*filter(is_custom, (each.reference_doctype for each in (*tools, *watched)))]


def read_pack_contents(pack: str) -> tuple[list[str], list[str], list[str]]:
	"""(agents, DocTypes, Knowledge Sources) of an installed pack that still exist, as arguments of
	`export_pack`.
	"""
	documents = group_pairs(map(get_document_key, get_readable_doc("Agent Pack", pack).records))
	agents, doctypes, sources = (
		[name for name in documents.get(kind, ()) if frappe.db.exists(kind, name)]
		for kind in ("Agent", "DocType", SOURCE)
	)
	return agents, doctypes, sources


def read_about(pack: str) -> dict[str, str]:
	"""Title, version and description of an installed pack, as `about` of `export_pack`."""
	doc = get_readable_doc("Agent Pack", pack)
	return {key: doc.get(key) for key in ("title", "version", "description") if doc.get(key)}


def name_prompt_files(agents: Iterable[str]) -> dict[str, str]:
	"""{agent: the file of its instructions}."""
	files: dict[str, str] = {}
	for agent in agents:
		stem = "prompts/" + re.sub(r"\W+", "_", frappe.scrub(agent))
		numbers = ("", *range(2, len(files) + 3))
		files[agent] = next(f"{stem}{n}.md" for n in numbers if f"{stem}{n}.md" not in files.values())
	return files


def add_linked_doctypes(names: Iterable[str]) -> list[str]:
	"""The DocTypes, and those made on the site that their tables and links refer to: without these, none of
	them can be saved.
	"""
	found = list(dict.fromkeys(names))
	for name in found:  # grows
		fields = frappe.get_meta(name).fields if frappe.db.exists("DocType", name) else ()
		linked = [df.options for df in fields if df.fieldtype in ("Link", *TABLE_TYPES)]
		found += [each for each in dict.fromkeys(linked) if each not in found and is_custom(each)]
	return found


def collect_roles(docs: list, definitions: Iterable[Mapping]) -> set[str]:
	"""Roles in use, without those that every site has."""
	rows = [row for doc in docs for table in ("roles", "tool_roles") for row in doc.get(table) or ()]
	found = {row.role for row in rows} | {
		rule["role"] for each in definitions for rule in each["permissions"]
	}
	return found - BUILT_IN


def list_kept_roles(about: Mapping[str, Any]) -> set[str]:
	"""The roles of an earlier manifest that the site still has: not each is in use by what is exported."""
	given = [each for each in about.get("roles") or () if isinstance(each, str)]
	return {each for each in given if frappe.db.exists("Role", each)}
