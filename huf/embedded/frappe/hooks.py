"""Hooks of the app "frappe" itself."""

app_name = "frappe"
app_title = "Frappe (embedded)"

permission_query_conditions = {
	"File": "frappe.core.doctype.file.file.get_permission_query_conditions",
	"Note": "frappe.desk.doctype.note.note.get_permission_query_conditions",
	"ToDo": "frappe.desk.doctype.todo.todo.get_permission_query_conditions",
}
has_permission = {
	"File": "frappe.core.doctype.file.file.has_permission",
	"Note": "frappe.desk.doctype.note.note.has_permission",
	"ToDo": "frappe.desk.doctype.todo.todo.has_permission",
}
ignore_links_on_delete = ["Activity Log", "Comment", "DocShare", "Error Log", "File", "ToDo", "Version"]

scheduler_events = {
	"cron": {"* * * * *": ["frappe.email.queue.flush"]},
	"daily": ["frappe.core.doctype.activity_log.activity_log.clear_old_logs"],
}
