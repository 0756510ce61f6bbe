"""Tool calls that did not work. The rows are read by `huf.ai.queries.reports`."""

from frappe import _

from huf.ai.queries import reports

COLUMNS = (
	{"fieldname": "name", "label": "Call", "fieldtype": "Link", "options": "Agent Tool Call", "width": 120},
	{"fieldname": "creation", "label": "Created", "fieldtype": "Datetime", "width": 190},
	{"fieldname": "tool", "label": "Tool", "fieldtype": "Data", "width": 160},
	{"fieldname": "status", "label": "Status", "fieldtype": "Data", "width": 90},
	{"fieldname": "effect", "label": "Effect", "fieldtype": "Data", "width": 90},
	{"fieldname": "run", "label": "Run", "fieldtype": "Link", "options": "Agent Run", "width": 120},
	{"fieldname": "error_message", "label": "Error", "fieldtype": "Small Text", "width": 400},
)


def execute(filters=None):
	columns = [{**column, "label": _(column["label"])} for column in COLUMNS]
	return columns, reports.list_failures(filters or {})
