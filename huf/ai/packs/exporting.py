"""Exports agents (with tools, triggers, mail rules, eval cases), DocTypes and their records as a pack.

Reads with the session user's permissions. Secrets, users and run-time values of this site are left out.
"""

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

import frappe
import yaml
from frappe.utils import flt

from huf.ai.core.documents import get_permitted
from huf.ai.core.errors import UsageError
from huf.ai.evals.cases import parse_definition
from huf.ai.mail.config import write_config
from huf.ai.mail.dispatch import read_rules
from huf.ai.packs.manifest import EVALS_FILE, MANIFEST_FILE, NO_RIGHTS, PACK_NAME, UNTRUSTED
from huf.ai.storage.untrusted_records import find_outsider, read_origin
from huf.ai.tools.schemas import TABLE_TYPES

TOOL = "Agent Tool Function"
RULES_FILE = "mail.yaml"
BUILT_IN = {"Administrator", "All", "Guest", "Desk User", "System Manager", "Huf Manager", "Huf User"}
SITE_FIELDS = {
	"Agent": {
		"last_run",
		"total_run",
		"pending_changes",
		"approver",
		"instructions",
		"agent_tool",
		"provider",
	},
	"Agent Tool": {"description"},
	TOOL: {"function_definition", "code_description", "code_effect"},
	"Agent Trigger": {
		"run_as",
		"approver",
		"notify_user",
		"webhook_secret",
		"next_execution",
		"last_execution",
		"last_error",
	},
}
SKIPPED_FIELD_TYPES = {"Section Break", "Column Break", "Tab Break", "Password", "HTML", "Button"}
DEFINITIONS = ("DocType", "DocField", "DocPerm")
"""Empty values of these are left out: they are unset, not cleared by a person."""
MAX_RECORDS_PER_DOCTYPE = 5000


def export_pack(
	name: str, agents: Iterable[str] = (), doctypes: Iterable[str] = (), with_records: bool = False
) -> dict[str, str]:
	"""The files of a pack as {path: text}, with the agents that these agents call.

	Raises UsageError for what a pack cannot contain, PermissionError for what the user may not read.
	"""
	if not PACK_NAME.fullmatch(name):
		raise UsageError(
			f"The folder's name {name!r} cannot be a pack's name. Use up to 40 lower-case letters, digits "
			"and _, with a letter first."
		)
	docs, own_tools = read_agents(agents)
	agent_names = [doc.name for doc in docs]
	prompt_files = name_prompt_files(agent_names)
	names = list_exported_names("Agent Trigger", {"agent": ["in", agent_names]})
	triggers = [get_readable_doc("Agent Trigger", each) for each in names]
	custom_doctypes = list_custom_doctypes(own_tools, triggers)
	definitions = dump_doctypes(add_linked_doctypes([*doctypes, *custom_doctypes]))
	rules = [rule for rule in read_rules() if rule.profile in agent_names]
	manifest = {
		"pack": name,
		"title": name.replace("_", " ").capitalize(),
		"version": "1.0",
		"roles": sorted(collect_roles([*docs, *own_tools], definitions)),
		"tools": [dump_document(tool) for tool in own_tools],
		"agents": [dump_agent(doc, prompt_files[doc.name]) for doc in docs],
		"triggers": [dump_trigger(each) for each in triggers],
		"mail": RULES_FILE if rules else None,
	}
	files = {prompt_files[doc.name]: doc.instructions or "" for doc in docs}
	if rules:
		files[RULES_FILE] = write_config(rules, ())
	files[MANIFEST_FILE] = to_yaml({key: value for key, value in manifest.items() if value})
	if definitions:
		files["doctypes.json"] = to_json(definitions)
	if with_records and definitions:
		files["records.json"] = to_json([each for d in definitions for each in dump_records(d["name"])])
	if cases := [case for each in agent_names for case in dump_cases(each)]:
		files[EVALS_FILE] = to_yaml(cases)
	return files


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


def list_custom_doctypes(tools: list, triggers: list) -> list[str]:
	"""The site's own DocTypes that the tools concern and the triggers watch."""
	# Users who may not read DocTypes export triggers without the DocTypes that they watch.
	watched = triggers if frappe.has_permission("DocType", "read") else ()
	return [*filter(is_custom, (each.reference_doctype for each in (*tools, *watched)))]


def read_pack_contents(pack: str) -> tuple[list[str], list[str]]:
	"""(agents, DocTypes) of an installed pack that still exist, as arguments of `export_pack`."""
	doc = get_readable_doc("Agent Pack", pack)
	here = [row for row in doc.records if frappe.db.exists(row.record_doctype, row.record_name)]
	agents = [row.record_name for row in here if row.record_doctype == "Agent"]
	return agents, [row.record_name for row in here if row.record_doctype == "DocType"]


def get_readable_doc(doctype: str, name: str):
	if not frappe.db.exists(doctype, name):
		raise UsageError(f"There is no {doctype} {name}.")
	return get_permitted(doctype, name)


def list_exported_names(doctype: str, filters: dict) -> list[str]:
	return frappe.get_list(doctype, filters=filters, pluck="name", order_by="name asc", limit_page_length=0)


def is_custom(doctype: str | None) -> bool:
	return bool(doctype and frappe.db.get_value("DocType", doctype, "custom"))


def dump_document(doc) -> dict:
	"""Fields of a document and its rows whose values differ from the defaults of a new one."""
	site_fields = SITE_FIELDS.get(doc.doctype, set())
	found: dict[str, Any] = {}
	for df in doc.meta.fields:
		is_hidden = df.fieldname not in vars(doc)  # above the user's permission level
		if is_hidden or df.fieldtype in SKIPPED_FIELD_TYPES or df.fieldname in site_fields:
			continue
		value = doc.get(df.fieldname)
		if value in (None, "", []):
			if df.default and not df.reqd and doc.doctype not in DEFINITIONS:
				found[df.fieldname] = ""
		elif isinstance(value, list):
			found[df.fieldname] = [dump_document(row) for row in value]
		elif isinstance(value, int | float):
			found |= {df.fieldname: value} if value != flt(df.default) else {}
		elif str(value) != str(df.default or ""):
			found[df.fieldname] = str(value)
	return found


def name_prompt_files(agents: Iterable[str]) -> dict[str, str]:
	"""{agent: the file of its instructions}."""
	files: dict[str, str] = {}
	for agent in agents:
		stem = "prompts/" + re.sub(r"\W+", "_", frappe.scrub(agent))
		numbers = ("", *range(2, len(files) + 3))
		files[agent] = next(f"{stem}{n}.md" for n in numbers if f"{stem}{n}.md" not in files.values())
	return files


def dump_agent(agent, file: str) -> dict:
	slots = [dump_document(row) for row in agent.agent_tool]
	tools = [slot["tool"] if len(slot) == 1 else slot for slot in slots]
	return {**dump_document(agent), "instructions_file": file, "tools": tools}


def dump_trigger(trigger) -> dict:
	"""A trigger that acts for a user is turned off, because its user and its secret are left out."""
	return {**dump_document(trigger), **({"disabled": 1} if trigger.run_as else {})}


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


def dump_doctypes(names: Iterable[str]) -> list[dict]:
	"""DocTypes as JSON values, without duplicates, each after those that it links to."""
	docs = {each: get_readable_doc("DocType", each) for each in names}
	links = {name: {field.options for field in doc.fields} for name, doc in docs.items()}
	return [dump_doctype(docs[name]) for name in sort_by_links(links)]


def dump_doctype(doc) -> dict:
	if not doc.custom:
		raise UsageError(f"{doc.name} belongs to an app: only DocTypes made on the site can be in a pack.")
	rows = {
		"fields": list(map(dump_document, doc.fields)),
		"permissions": list(map(dump_permission, doc.permissions)),
	}
	return {"doctype": "DocType", "name": doc.name, **dump_document(doc), "custom": 1, **rows}


def dump_permission(row) -> dict:
	"""A permission row with all its rights: Frappe's defaults are not a pack's, see `NO_RIGHTS`."""
	return {**dump_document(row), **{right: 1 for right in NO_RIGHTS if row.get(right)}}


def sort_by_links(links: Mapping[str, Iterable[str]]) -> list[str]:
	"""Sort names so that each comes after those that it links to, as far as there are no cycles."""
	left = {name: {*others} - {name} for name, others in links.items()}
	done: list[str] = []
	while left:
		ready = [name for name, others in left.items() if not left.keys() & others]
		for name in ready or list(left)[:1]:
			del left[name]
			done.append(name)
	return done


def dump_records(doctype: str) -> Iterable[dict]:
	meta = frappe.get_meta(doctype)
	if meta.istable or meta.issingle:
		return
	# A cancelled document is created by a submission and a cancellation: no sample record.
	found = list_exported_names(doctype, {"docstatus": ["<", 2]})
	if len(found) > MAX_RECORDS_PER_DOCTYPE:
		raise UsageError(
			f"{doctype} has {len(found)} records, and a pack holds {MAX_RECORDS_PER_DOCTYPE} at most of each."
		)
	named = (meta.autoname or "").startswith(("field:", "format:"))
	docs = {name: get_readable_doc(doctype, name) for name in found}
	for doc in docs.values():
		doc.apply_fieldlevel_read_permissions()
		clear_links_to_cancelled(doc)
	own = [df.fieldname for df in meta.fields if df.fieldtype == "Link" and df.options == doctype]
	for name in sort_by_links({name: [doc.get(field) for field in own] for name, doc in docs.items()}):
		yield {
			"doctype": doctype,
			**({} if named else {"name": name}),
			**({"docstatus": 1} if docs[name].docstatus == 1 else {}),
			**dump_document(docs[name]),
			**dump_origin(doctype, name),
		}


def clear_links_to_cancelled(doc) -> None:
	"""Cancelled documents are not exported, and links to them would prevent the import."""
	for each in (doc, *doc.get_all_children()):
		for df in each.meta.fields:
			name = each.get(df.fieldname) if df.fieldtype == "Link" else None
			if name and is_custom(df.options) and frappe.db.get_value(df.options, name, "docstatus") == 2:
				each.set(df.fieldname, None)


def dump_origin(doctype: str, name: str) -> dict:
	"""Where untrusted content in a document came from, so that it stays untrusted on another site."""
	origin = read_origin(doctype, name) or find_outsider(doctype, [name])
	return {UNTRUSTED: origin} if origin else {}


def dump_cases(agent: str) -> Iterable[dict]:
	"""The agent's eval cases; none for a System Manager who is no Huf Manager and may not read them."""
	if not frappe.has_permission("Agent Eval Case", "read"):
		return
	rows = {"agent": agent, "disabled": 0}
	for name in list_exported_names("Agent Eval Case", rows):
		doc = get_readable_doc("Agent Eval Case", name)
		about = {"case": doc.case_name, "agent": agent, "prompt": doc.prompt}
		about |= dump_origin("Agent Eval Case", name)
		yield {**{k: v for k, v in about.items() if v}, **parse_definition(doc.definition or "")}


def collect_roles(docs: list, definitions: Iterable[Mapping]) -> set[str]:
	"""Roles in use, without those that every site has."""
	rows = [row for doc in docs for table in ("roles", "tool_roles") for row in doc.get(table) or ()]
	found = {row.role for row in rows} | {
		rule["role"] for each in definitions for rule in each["permissions"]
	}
	return found - BUILT_IN


def to_yaml(value: Any) -> str:
	return yaml.safe_dump(value, sort_keys=False, allow_unicode=True, width=110)


def to_json(value: Any) -> str:
	return json.dumps(value, indent=1, ensure_ascii=False, default=str)
