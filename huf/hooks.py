app_name = "huf"
app_title = "Huf"
app_publisher = "Huf contributors"
app_description = "AI agents as business records"
app_email = "huf@example.com"
app_license = "MIT"
app_home = "/huf"

add_to_apps_screen = [{"name": "huf", "logo": "/assets/huf/huf.svg", "title": "Huf", "route": "/huf"}]

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
	*(
		"Helena Akte",
		"Helena Dokument",
		"Helena Frist",
		"Helena Zeiteintrag",
		"Helena Notiz",
		"Helena Hinweis",
	),
)
permission_query_conditions = {
	**dict.fromkeys(_private, "huf.permissions.list_condition"),
	"Agent Draft": "huf.permissions.draft_condition",
	**dict.fromkeys(_cases, "huf.packs.helena.access.has_permission"),
