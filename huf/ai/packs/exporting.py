"""What a site has, written out as a pack: agents with their tools, triggers, rules and cases, DocTypes, and their records.

Only reads, as the user in session. Leaves out secrets, users, and what happened on this site.
"""

import json
from collections.abc import Iterable, Mapping
from typing import Any

import frappe
import yaml

from huf.ai.core.errors import UsageError
from huf.ai.evals.cases import parse_definition
from huf.ai.mail.config import write_config
from huf.ai.mail.dispatch import read_rules
from huf.ai.packs.manifest import EVALS, FILE, NAME, NO_RIGHTS

TOOL, RULES = "Agent Tool Function", "mail.yaml"
BUILT_IN = {"Administrator", "All", "Guest", "Desk User", "System Manager", "Huf Manager", "Huf User"}
OF_THE_SITE = {
	"Agent": {"last_run", "total_run", "pending_changes", "approver", "instructions", "agent_tool"},
	TOOL: {"function_definition"},
	"Agent Trigger": {
		"run_as",
		"approver",
		"webhook_secret",
		"next_execution",
		"last_execution",
		"last_error",
	},
}
NOT_KEPT = {"Section Break", "Column Break", "Tab Break", "Password", "HTML", "Button"}
MAX_RECORDS = 5000


def export_pack(
	name: str, agents: Iterable[str] = (), doctypes: Iterable[str] = (), with_records: bool = False
) -> dict[str, str]:
	"""{file: text} of a pack with these. Raises UsageError for what no pack can hold, PermissionError."""
	if not NAME.fullmatch(name):
		raise UsageError("A pack's name is short: small letters, digits and _.")
	agents = [readable("Agent", each) for each in agents]
	tools = [readable(TOOL, row.tool) for agent in agents for row in agent.agent_tool]
	own = {tool.name: tool for tool in tools if tool.types != "App Provided"}
	doctypes = dict.fromkeys(
		[*doctypes, *(t.reference_doctype for t in own.values() if is_custom(t.reference_doctype))]
	)
	definitions = [definition_of(each) for each in in_order([readable("DocType", each) for each in doctypes])]
	triggers = [
		readable("Agent Trigger", each)
		for each in names_of("Agent Trigger", {"agent": ["in", names(agents)]})
	]
	files = {f"prompts/{frappe.scrub(each.name)}.md": each.instructions or "" for each in agents}
	top = {"pack": name, "title": name.replace("_", " ").capitalize(), "version": "1.0"}
	top["roles"] = sorted(roles_in([*agents, *own.values()], definitions))
	top["tools"] = [values_of(tool) for tool in own.values()]
	top["agents"] = [agent_values(agent) for agent in agents]
	top["triggers"] = [values_of(trigger) for trigger in triggers]
	if rules := [rule for rule in read_rules() if rule.profile in names(agents)]:
		files[RULES] = write_config(rules, ())
		top["mail"] = RULES
	files[FILE] = as_yaml({key: value for key, value in top.items() if value})
	if definitions:
		files["doctypes.json"] = as_json(definitions)
	if with_records and definitions:
		files["records.json"] = as_json([each for d in definitions for each in records_of(d["name"])])
	if cases := [case for agent in agents for case in cases_of(agent.name)]:
		files[EVALS] = as_yaml(cases)
	return files


def contents_of(pack: str) -> tuple[list[str], list[str]]:
	"""Agents and DocTypes of an installed pack, as arguments of `export_pack`."""
	doc = readable("Agent Pack", pack)
	here = [row for row in doc.records if frappe.db.exists(row.record_doctype, row.record_name)]
	kinds = ("Agent", "DocType")
	return tuple([row.record_name for row in here if row.record_doctype == kind] for kind in kinds)


def readable(doctype: str, name: str):
	if not frappe.db.exists(doctype, name):
		raise UsageError(f"There is no {doctype} {name}.")
	doc = frappe.get_doc(doctype, name)
	doc.check_permission("read")
	return doc


def names(docs: Iterable) -> list[str]:
	return [doc.name for doc in docs]


def names_of(doctype: str, filters: dict) -> list[str]:
	return frappe.get_list(doctype, filters=filters, pluck="name", order_by="name asc", limit_page_length=0)


def is_custom(doctype: str | None) -> bool:
	return bool(doctype and frappe.db.get_value("DocType", doctype, "custom"))


def values_of(doc) -> dict:
	"""The fields that differ from what a new document has; rows of tables likewise."""
	left_out = OF_THE_SITE.get(doc.doctype, set())
	found: dict[str, Any] = {}
	for df in doc.meta.fields:
		value = doc.get(df.fieldname)
		if df.fieldtype in NOT_KEPT or df.fieldname in left_out or value in (None, "", []):
			continue
		if isinstance(value, list):
			found[df.fieldname] = [values_of(row) for row in value]
		elif str(value) != str(df.default or ("0" if isinstance(value, int | float) else "")):
			found[df.fieldname] = value if isinstance(value, int | float) else str(value)
	return found


def agent_values(agent) -> dict:
	slots = [values_of(row) for row in agent.agent_tool]
	tools = [slot["tool"] if len(slot) == 1 else slot for slot in slots]
	file = f"prompts/{frappe.scrub(agent.name)}.md"
	return {**values_of(agent), "instructions_file": file, "tools": tools}


def definition_of(doc) -> dict:
	if not doc.custom:
		raise UsageError(f"{doc.name} belongs to an app: only DocTypes made on the site can be in a pack.")
	rows = {"fields": list(map(values_of, doc.fields)), "permissions": list(map(rights_of, doc.permissions))}
	return {"doctype": "DocType", "name": doc.name, **values_of(doc), "custom": 1, **rows}


def rights_of(row) -> dict:
	"""Every right is said: what a new row has by itself is not what a pack gives where it says nothing."""
	return {**values_of(row), **{right: 1 for right in NO_RIGHTS if row.get(right)}}


def in_order(docs: list) -> list:
	"""So that a DocType comes after those that it links to."""
	left, done = {doc.name: doc for doc in docs}, []
	while left:
		ready = [d for d in left.values() if not {f.options for f in d.fields} & (set(left) - {d.name})]
		for doc in ready or list(left.values())[:1]:
			done.append(left.pop(doc.name))
	return done


def records_of(doctype: str) -> Iterable[dict]:
	meta = frappe.get_meta(doctype)
	if meta.istable or meta.issingle:
		return
	found = names_of(doctype, {})
	if len(found) > MAX_RECORDS:
		raise UsageError(
			f"{doctype} has {len(found)} records, and a pack holds {MAX_RECORDS} at most of each."
		)
	named = (meta.autoname or "").startswith(("field:", "format:"))
	for name in found:
		yield {"doctype": doctype, **({} if named else {"name": name}), **values_of(readable(doctype, name))}


def cases_of(agent: str) -> Iterable[dict]:
	rows = {"agent": agent, "disabled": 0}
	for name in names_of("Agent Eval Case", rows):
		doc = readable("Agent Eval Case", name)
		about = {"case": doc.case_name, "agent": agent, "prompt": doc.prompt}
		yield {**{k: v for k, v in about.items() if v}, **parse_definition(doc.definition or "")}


def roles_in(docs: list, definitions: list[Mapping]) -> set[str]:
	"""Roles that are not on every site."""
	rows = [row for doc in docs for table in ("roles", "tool_roles") for row in doc.get(table) or ()]
	found = {row.role for row in rows} | {
		rule["role"] for each in definitions for rule in each["permissions"]
	}
	return found - BUILT_IN


def as_yaml(value: Any) -> str:
	return yaml.safe_dump(value, sort_keys=False, allow_unicode=True, width=110)


def as_json(value: Any) -> str:
	return json.dumps(value, indent=1, ensure_ascii=False, default=str)
