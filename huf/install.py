"""Install and migrate hooks: roles, default settings, a demo agent that works without a model, tools,
indexes.
"""

from collections.abc import Sequence
from importlib.util import find_spec

import frappe

from huf.ai.core.settings import is_installing
from huf.ai.knowledge.store import upgrade_index
from huf.ai.storage.indexes import add_indexes
from huf.ai.storage.stops import ensure_switch
from huf.ai.tools import registry
from huf.upgrade import label_old_results, move_stored_paths, shorten_leases

ROLES = ("Huf Manager", "Huf User")
DEMO_AGENT = "Office Assistant"
DEMO_TOOLS = (
	{
		"tool_name": "list_users",
		"types": "Get List",
		"reference_doctype": "User",
		"description": "List or count the users of this site",
	},
	{
		"tool_name": "list_todos",
		"types": "Get List",
		"reference_doctype": "ToDo",
		"description": "List or count to-dos, such as the open ones",
	},
	{
		"tool_name": "create_todo",
		"types": "Create Document",
		"reference_doctype": "ToDo",
		"description": "Create a to-do",
		"parameters": [
			{
				"fieldname": "description",
				"type": "string",
				"required": 1,
				"description": "What is to be done",
			},
			{"fieldname": "date", "type": "string", "description": "When it is due, YYYY-MM-DD"},
			{"fieldname": "priority", "type": "string", "options": "Low\nMedium\nHigh"},
			{
				"fieldname": "allocated_to",
				"type": "string",
				"description": "Who is to do it: the address of a user",
			},
		],
	},
	{
		"tool_name": "update_todo",
		"types": "Update Document",
		"reference_doctype": "ToDo",
		"description": "Change a to-do, for instance close it",
	},
	{
		"tool_name": "list_notes",
		"types": "Get List",
		"reference_doctype": "Note",
		"description": "List or count notes",
	},
	{
		"tool_name": "create_note",
		"types": "Create Document",
		"reference_doctype": "Note",
		"description": "Write a note",
		"parameters": [
			{"fieldname": "title", "type": "string", "required": 1, "description": "Title of the note"},
			{"fieldname": "content", "type": "string", "description": "Text of the note"},
		],
	},
)
DERIVED_FIELDS = (
	"description",
	"code_description",
	"effect",
	"code_effect",
	"function_definition",
	"documents_only",
	"untrusted_result",
	"destructive",
	"sensitive_parameters",
)
SEARCH_TOOL = {
	"tool_name": "search_knowledge",
	"types": "Search Knowledge",
	"description": "Search the knowledge of this office: documents, files and pages that the user may read",
}
INSTRUCTIONS = """You help with everyday office work on this site: to-dos, notes, and who is a user here.

Look things up with your tools instead of guessing. Be sure which document is meant before you change it.
Say in one or two sentences what you found or did, and name the documents."""


def after_install():
	make_roles()
	store_default_settings()
	make_demo_agent()
	record_offered_tools()
	prepare_knowledge()
	add_indexes()
	ensure_switch()
	warn_if_litellm_is_missing()


def after_app_install(app: str):
	"""Create the tools of an app that is installed on a bench; `huf install-app` migrates, which does so."""
	record_offered_tools()


def after_migrate():
	make_roles()
	store_default_settings()
	record_offered_tools()
	prepare_knowledge()
	add_indexes()
	ensure_switch()
	move_stored_paths()
	label_old_results()
	shorten_leases()
	refresh_definitions()


def make_roles():
	for role in ROLES:
		if not frappe.db.exists("Role", role):
			frappe.get_doc({"doctype": "Role", "role_name": role, "desk_access": 1}).insert(
				ignore_permissions=True
			)


def store_default_settings():
	"""Store the defaults of Huf Settings: once a Single has stored values, Frappe applies no defaults to new
	fields.
	"""
	stored, fields = frappe.db.get_singles_dict("Huf Settings"), frappe.get_meta("Huf Settings").fields
	missing = {f.fieldname: f.default for f in fields if f.default and stored.get(f.fieldname) is None}
	if missing:
		frappe.get_doc("Huf Settings").update(missing).save()


def make_demo_agent():
	"""Create an agent for DocTypes that every site has, unless the site has agents already."""
	if frappe.db.count("Agent"):
		return
	for tool in DEMO_TOOLS:
		if not frappe.db.exists("Agent Tool Function", tool["tool_name"]):
			frappe.get_doc({"doctype": "Agent Tool Function", **tool}).insert(ignore_permissions=True)
	frappe.get_doc(
		{
			"doctype": "Agent",
			"agent_name": DEMO_AGENT,
			"description": "Looks up users, keeps to-dos and notes. Also works without a model.",
			"instructions": INSTRUCTIONS,
			"agent_tool": [{"tool": tool["tool_name"]} for tool in DEMO_TOOLS],
			"starters": "How many users are there?\nCreate a todo to call Anna\nList my open todos",
		}
	).insert(ignore_permissions=True)


def record_offered_tools():
	"""Create an Agent Tool Function for each tool that apps offer; existing ones of the same name are left
	alone.
	"""
	for tool in registry.list_code_tools():
		if not frappe.db.exists("Agent Tool Function", tool.name):
			frappe.get_doc({"doctype": "Agent Tool Function", **tool.values}).insert(ignore_permissions=True)
	for fault in registry.list_tool_faults():
		print(fault)
		frappe.log_error("A tool's file could not be loaded", fault)


def prepare_knowledge():
	"""Create the full-text index and the tool that searches it."""
	upgrade_index()
	if not frappe.db.exists("Agent Tool Function", SEARCH_TOOL["tool_name"]):
		frappe.get_doc({"doctype": "Agent Tool Function", **SEARCH_TOOL}).insert(ignore_permissions=True)


def follow_doctype(doc, method: str) -> None:
	"""Document event of DocType, Custom Field and Property Setter: rebuild the tools of the DocType once,
	before the commit, so that a preview or undo of the save does not include them.
	"""
	if is_installing():
		return
	if not frappe.flags.huf_changed_doctypes:
		frappe.db.before_commit.add(rebuild_tools)
		frappe.db.after_rollback.add(take_changed_doctypes)
	changed = doc.get("dt") or doc.get("doc_type") or doc.name
	frappe.flags.huf_changed_doctypes = {*(frappe.flags.huf_changed_doctypes or ()), changed}


def take_changed_doctypes() -> set[str]:
	changed, frappe.flags.huf_changed_doctypes = frappe.flags.huf_changed_doctypes or set(), None
	return changed


def rebuild_tools() -> None:
	changed = take_changed_doctypes()
	for doctype in changed:
		frappe.clear_cache(doctype=doctype)
	used = set(frappe.get_all("Agent Tool Function", pluck="reference_doctype", order_by="name"))
	if affected := [each for each in used if each and uses_any_doctype(each, changed)]:
		messages = len(frappe.local.message_log)
		refresh_definitions(affected)
		# Nobody who saves a DocType needs to read why a tool cannot be rebuilt.
		del frappe.local.message_log[messages:]


def uses_any_doctype(doctype: str, others: set[str]) -> bool:
	tables = frappe.get_meta(doctype).get_table_fields() if frappe.db.exists("DocType", doctype) else ()
	return not others.isdisjoint((doctype, *(df.options for df in tables)))


def refresh_definitions(doctypes: Sequence[str] | None = None):
	"""Rebuild tool definitions and declarations: DocTypes may have new fields, code may declare more.

	A tool whose function or DocType is gone keeps its old ones. `doctypes`: only the tools of these.
	"""
	filters = {"reference_doctype": ["in", doctypes]} if doctypes else {}
	for name in frappe.get_all("Agent Tool Function", filters, pluck="name", order_by="name"):
		tool = frappe.get_doc("Agent Tool Function", name)
		before = {field: tool.get(field) for field in DERIVED_FIELDS}
		try:
			tool.follow_code()
			tool.set_definition()
			tool.set_declarations()
		except frappe.ValidationError as error:
			print(f"The tool {name} cannot be used: {leave_out_faults(str(error))}")
		if changed := {field: tool.get(field) for field in before if tool.get(field) != before[field]}:
			tool.db_set(changed, update_modified=False)


def leave_out_faults(message: str) -> str:
	"""A message about a lost tool without the faults of files, which are printed once."""
	for fault in registry.list_tool_faults():
		message = message.replace(f" {fault}.", "")
	return message


def warn_if_litellm_is_missing():
	if find_spec("litellm") is None:
		print(
			"LiteLLM is not installed, so agents work offline only. Install it with: bench setup requirements"
		)
