app_name = "huf"
app_title = "Huf"
app_publisher = "Huf contributors"
app_description = "AI agents as business records"
app_email = "huf@example.com"
app_license = "MIT"
app_home = "/huf"

add_to_apps_screen = [{"name": "huf", "logo": "/assets/huf/huf.svg", "title": "Huf", "route": "/huf"}]

# The Desk's "Ask an agent about this".
app_include_js = ["/assets/huf/ask_agent.js"]

after_install = "huf.install.after_install"
after_migrate = ["huf.install.after_migrate"]

website_route_rules = [{"from_route": "/huf/<path:app_path>", "to_route": "huf"}]

# Runs and conversations are private: see huf/permissions.py.
_private = (
	*("Agent Conversation", "Agent Message", "Agent Run", "Agent LLM Call", "Agent Tool Call"),
	*("Agent Trigger Event", "Agent Route Decision", "Agent Mail", "Agent Mail Event"),
)
# Cases of the law office's pack, and what is in them: see huf/packs/helena/access.py.
_cases = (
	*("Helena Akte", "Helena Dokument", "Helena Frist", "Helena Zeiteintrag"),
	*("Helena Notiz", "Helena Hinweis"),
)
permission_query_conditions = {
	**dict.fromkeys(_private, "huf.permissions.list_condition"),
	"Agent Draft": "huf.permissions.draft_condition",
	"Knowledge Source": "huf.permissions.source_condition",
	**dict.fromkeys(_cases, "huf.packs.helena.access.list_condition"),
}
has_permission = {
	**dict.fromkeys(_private, "huf.permissions.has_permission"),
	"Agent Draft": "huf.permissions.has_draft_permission",
	"Knowledge Source": "huf.permissions.has_source_permission",
	**dict.fromkeys(_cases, "huf.packs.helena.access.has_permission"),
}

# Tools that this app offers to agents, as any app can: functions by tool_name, description and function_path, and
# optionally effect and parameters (a JSON schema; otherwise the signature counts), or modules by their dotted path, with
# functions marked as in huf/ai/tools/registry.py. An app's folder huf_tools needs no hook: each file of it is looked at.
huf_tools = [
	*("huf.ai.tools.web", "huf.ai.tools.files", "huf.ai.tools.answer", "huf.ai.tools.sandbox"),
	"huf.ai.mail.tools",
	{
		"tool_name": "get_document",
		"description": "Read one document of any DocType, as far as the user may",
		"function_path": "huf.ai.tool_functions.get_document",
		"effect": "read",
	},
	{
		"tool_name": "get_list",
		"description": "List documents of any DocType, as far as the user may",
		"function_path": "huf.ai.tool_functions.get_list",
		"effect": "read",
	},
]

# Every save passes huf/ai/agent_hooks.py: these are the events that Frappe calls after a change.
_saved = "huf.ai.agent_hooks.run_hooked_agents"
_changed = "huf.ai.agent_hooks.clear_doc_event_agents_cache"
_events = (
	"after_insert",
	"on_update",
	"on_submit",
	"on_update_after_submit",
	"on_cancel",
	"on_trash",
	"after_delete",
)
# What Knowledge Sources hold is read anew when it changes: see huf/ai/knowledge/changes.py.
_indexed = "huf.ai.knowledge.changes.note_change"
doc_events = {
	"*": {
		**dict.fromkeys(_events, _saved),
		"on_change": [_saved, _indexed],
		"after_delete": [_saved, _indexed],
		"after_rename": _indexed,
	},
	**{
		name: dict.fromkeys(("on_change", "after_delete", "after_rename"), _changed)
		for name in ("Agent", "Agent Trigger")
	},
	# Mail that Frappe's own accounts receive and send.
	"Communication": {"on_update": "huf.ai.agent_email.take_communication"},
}

# Addresses that Frappe does not know, and keys as OpenAI's clients send them: see huf/api/addresses.py and keys.py.
before_request = ["huf.api.addresses.lead_to_function", "huf.api.keys.take_bearer_key"]
after_request = ["huf.api.keys.word_refusal"]

page_renderer = ["huf.api.webhook.HookPage"]

# What runs and events say of documents must not keep anybody from deleting these.
ignore_links_on_delete = [
	*(
		"Agent Run",
		"Agent Trigger Event",
		"Agent Draft",
		"Agent Route Decision",
		"Agent Mail",
		"Agent Mail Event",
		"Knowledge Item",
	),
]

scheduler_events = {
	"cron": {
		"* * * * *": [
			"huf.ai.runs.queue.recover",
			"huf.ai.triggers.runs.recover_events",
			"huf.ai.agent_scheduler.run_due_triggers",
			"huf.ai.chat.approvals.expire_drafts",
			"huf.ai.mail.jobs.recover_mails",
			"huf.ai.agent_email.poll_mailboxes",
			"huf.ai.knowledge.indexing.recover",
		]
	},
	"daily": [
		"huf.ai.agent_scheduler.clear_old_events",
		"huf.ai.storage.retention.apply_retention",
		"huf.ai.mail.retention.blank_old_mails",
		"huf.ai.knowledge.indexing.refresh",
	],
}
