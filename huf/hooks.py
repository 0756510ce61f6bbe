from huf.packs import collect_hooks

app_name = "huf"
app_title = "Huf"
app_publisher = "Huf contributors"
app_description = "AI agents as business records"
app_email = "huf@example.com"
app_license = "MIT"
app_home = "/huf"

add_to_apps_screen = [{"name": "huf", "logo": "/assets/huf/huf.svg", "title": "Huf", "route": "/huf"}]

# Adds "Ask an agent about this" to forms in the Desk.
app_include_js = ["/assets/huf/ask_agent.js"]

after_install = "huf.install.after_install"
after_app_install = "huf.install.after_app_install"
after_migrate = ["huf.install.after_migrate"]

website_route_rules = [{"from_route": "/huf/<path:app_path>", "to_route": "huf"}]

# Users see their own runs and what belongs to them; managers see all of them (huf/permissions.py).
_PRIVATE_DOCTYPES = (
	"Agent Conversation",
	"Agent Message",
	"Agent Run",
	"Agent LLM Call",
	"Agent Tool Call",
	"Agent Change",
	"Agent Trigger Event",
	"Agent Route Decision",
	"Agent Mail Event",
	"MCP Grant",
)
# Huf writes these by SQL. A manager who may share them could otherwise grant write access.
_RECORDS = (
	*(name for name in _PRIVATE_DOCTYPES if name not in ("Agent Conversation", "MCP Grant")),
	"Agent Draft",
	"Agent Eval Run",
	"Agent Mail",
	"Agent Stop",
)
# Their lists and reports in the Desk would show texts of mails and models as HTML.
doctype_list_js = dict.fromkeys(
	(*_RECORDS, "Agent Conversation", "Agent Untrusted Record"), "public/escape_texts.js"
)
# Packs add hooks for their own DocTypes (hooks.py in a pack's folder). The hook "*" would not do: on Frappe
# 15 a "*" function of has_permission that returns True overrides the hooks of all other apps, and on Frappe
# 16 one that returns None denies.
permission_query_conditions = {
	**collect_hooks("huf.packs", "permission_query_conditions"),
	**dict.fromkeys(_PRIVATE_DOCTYPES, "huf.permissions.list_condition"),
	"Agent Draft": "huf.permissions.draft_condition",
	"Agent Memory": "huf.permissions.memory_condition",
	"Agent Mail": "huf.permissions.mail_condition",
	"Knowledge Source": "huf.permissions.role_condition",
	"MCP Server": "huf.permissions.role_condition",
}
has_permission = {
	**collect_hooks("huf.packs", "has_permission"),
	**dict.fromkeys(_PRIVATE_DOCTYPES, "huf.permissions.has_permission"),
	"Agent Draft": "huf.permissions.has_draft_permission",
	"Agent Memory": "huf.permissions.has_memory_permission",
	"Agent Mail": "huf.permissions.has_mail_permission",
	"Knowledge Source": "huf.permissions.has_named_role",
	"MCP Server": "huf.permissions.has_named_role",
}

override_whitelisted_methods = {
	"frappe.client.get": "huf.api.client.get",
	"frappe.client.get_count": "huf.api.client.get_count",
}

# Fields whose values agents with "Mask Personal Data" mask, {DocType: [fieldnames]}. Apps may use it, too.
huf_personal_data = collect_hooks("huf.packs", "huf_personal_data")

# Tools that Huf offers to agents. Any app may use this hook: functions, as {tool_name, description,
# function_path} with optional effect and parameters (a JSON schema, by default taken from the signature), or
# dotted paths of modules whose functions are marked @tool (huf/ai/tools/registry.py). Files in an app's
# folder huf_tools are found without the hook.
huf_tools = [
	"huf.ai.tools.web",
	"huf.ai.tools.files",
	"huf.ai.tools.answer",
	"huf.ai.tools.sandbox",
	"huf.ai.mail.tools",
	{
		"tool_name": "get_document",
		"description": "Read one document of any DocType that the user may read",
		"function_path": "huf.ai.tool_functions.get_document",
		"effect": "read",
	},
	{
		"tool_name": "get_list",
		"description": "List documents of any DocType that the user may read",
		"function_path": "huf.ai.tool_functions.get_list",
		"effect": "read",
	},
]

# Doc Event triggers. Every save of the site passes through these functions, so they answer from a cache.
_run_triggers = "huf.ai.agent_hooks.run_hooked_agents"
_clear_trigger_cache = "huf.ai.agent_hooks.clear_doc_event_agents_cache"
_AFTER_CHANGE = (
	"after_insert",
	"on_update",
	"on_submit",
	"on_update_after_submit",
	"on_cancel",
	"on_trash",
	"after_delete",
)
# Documents in a Knowledge Source are indexed again when they change.
_note_knowledge_change = "huf.ai.knowledge.changes.mark_items"
_follow_doctype = "huf.install.follow_doctype"
_refuse_row_alone = "huf.permissions.refuse_row_alone"
doc_events = {
	"*": {
		**dict.fromkeys(_AFTER_CHANGE, _run_triggers),
		"validate": _refuse_row_alone,
		"on_change": [_run_triggers, _note_knowledge_change],
		"after_delete": [_run_triggers, _note_knowledge_change, "huf.ai.storage.facts.delete_facts_about"],
		"after_rename": [
			_note_knowledge_change,
			"huf.ai.storage.renames.follow_rename",
			"huf.ai.dry_run.change_tracking.record_rename",
		],
	},
	**{
		name: dict.fromkeys(("on_change", "after_delete", "after_rename"), _clear_trigger_cache)
		for name in ("Agent", "Agent Trigger")
	},
	**dict.fromkeys(_RECORDS, {"validate": "huf.permissions.refuse_change"}),
	# The arguments of an agent's tools follow the fields of their DocType.
	"DocType": {"on_update": _follow_doctype},
	**{
		name: dict.fromkeys(("on_update", "after_delete"), _follow_doctype)
		for name in ("Custom Field", "Property Setter")
	},
	"File": {"validate": "huf.ai.knowledge.changes.check_file"},
	"User": {"on_trash": "huf.ai.storage.users.delete_own_records"},
	# Mail that Frappe's own Email Accounts receive and send.
	"Communication": {"on_update": "huf.ai.agent_email.take_communication"},
}

# Short addresses such as /v1/chat/completions, and OpenAI's form of keys and errors.
before_request = [
	"huf.api.addresses.rewrite_path",
	"huf.api.request_hooks.take_bearer_key",
	"huf.api.request_hooks.take_access_token",
	"huf.api.page_language.take_page_language",
	"huf.ai.core.database_connections.prepare_connection",
]
before_job = ["huf.ai.core.database_connections.prepare_connection"]
after_request = [
	"huf.api.request_hooks.format_refusal",
	"huf.api.request_hooks.answer_parse_error",
	"huf.api.request_hooks.name_sign_in",
	"huf.api.request_hooks.record_mcp_request",
]

page_renderer = ["huf.api.webhook.HookPage"]

# Records that mention a document must not prevent its deletion.
ignore_links_on_delete = [
	"Agent Run",
	"Agent Change",
	"Agent Trigger Event",
	"Agent Draft",
	"Agent Route Decision",
	"Agent Mail",
	"Agent Mail Event",
	"Knowledge Item",
	"Agent Untrusted Record",
	"Agent Memory",
]

scheduler_events = {
	"cron": {
		"* * * * *": [
			"huf.ai.runs.queue.recover_runs",
			"huf.ai.runs.stop_rules.check_working_agents",
			"huf.ai.triggers.runs.recover_events",
			"huf.ai.agent_scheduler.run_due_triggers",
			"huf.ai.chat.approvals.expire_drafts",
			"huf.ai.chat.passing_on.pass_on_drafts",
			"huf.ai.mail.jobs.recover_mails",
			"huf.ai.mail.delivery.follow_queue",
			"huf.ai.agent_email.poll_mailboxes",
			"huf.ai.knowledge.indexing.recover_sources",
		]
	},
	"daily": [
		"huf.ai.agent_scheduler.clear_old_events",
		"huf.ai.storage.retention.apply_retention",
		"huf.ai.storage.site_activity.record_activity",
		"huf.ai.mail.retention.blank_old_mails",
		"huf.ai.knowledge.indexing.refresh_sources",
	],
}
