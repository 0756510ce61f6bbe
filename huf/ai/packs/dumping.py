"""Turns documents of the site into values of a pack, without secrets, users and run-time values."""

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

import frappe
import yaml
from frappe.utils import flt

from huf.ai.core.documents import get_permitted
from huf.ai.core.errors import UsageError
from huf.ai.core.yaml_lines import TEXT_TAG
from huf.ai.evals.cases import parse_definition
from huf.ai.knowledge.store import SOURCE
from huf.ai.packs.manifest import NO_RIGHTS, UNTRUSTED
from huf.ai.storage.untrusted_records import find_outsider, read_origin

TOOL = "Agent Tool Function"
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
	SOURCE: {"state", "error", "indexed_at", "requested", "embedding_model"},
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
OTHER_LINE_BREAKS = re.compile(r"[\r\x85\u2028\u2029\ufeff]")


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
		is_added = df.get("is_custom_field")  # by this site, and the other one lacks it
		if is_hidden or is_added or df.fieldtype in SKIPPED_FIELD_TYPES or df.fieldname in site_fields:
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


def dump_tool(tool) -> dict:
	"""A tool, with the JSON of its fields in lines."""
	found = dump_document(tool)
	for df in tool.meta.fields:
		if df.fieldname in found and (df.fieldtype, df.options) == ("Code", "JSON"):
			found[df.fieldname] = indent_json(found[df.fieldname])
	return found


def indent_json(text: str) -> str:
	try:
		return json.dumps(json.loads(text), ensure_ascii=False, indent=1)
	except (ValueError, RecursionError):
		return text


def dump_agent(agent, file: str) -> dict:
	slots = [dump_document(row) for row in agent.agent_tool]
	tools = [slot["tool"] if len(slot) == 1 else slot for slot in slots]
	return {**dump_document(agent), "instructions_file": file, "tools": tools}


def dump_trigger(trigger) -> dict:
	"""A trigger that acts for a user is turned off, because its user and its secret are left out."""
	return {**dump_document(trigger), **({"disabled": 1} if trigger.run_as else {})}


def dump_source(source) -> dict:
	"""A Knowledge Source without its embedding model, whose provider receives the texts: a site's choice."""
	return {"doctype": SOURCE, **dump_document(source)}


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


class PackDumper(yaml.SafeDumper):
	"""Writes texts of several lines as lines."""


def represent_text(dumper: PackDumper, text: str) -> yaml.ScalarNode:
	# PyYAML reads back other line breaks as spaces, unless they are escaped.
	style = '"' if OTHER_LINE_BREAKS.search(text) else "|" if "\n" in text else None
	return dumper.represent_scalar(TEXT_TAG, text, style=style)


PackDumper.add_representer(str, represent_text)


def to_yaml(value: Any) -> str:
	return yaml.dump(value, Dumper=PackDumper, sort_keys=False, allow_unicode=True, width=110)


def to_json(value: Any) -> str:
	return json.dumps(value, indent=1, ensure_ascii=False, default=str)
