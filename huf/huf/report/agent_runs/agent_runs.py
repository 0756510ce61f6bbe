"""Runs, the newest first. The rows are read by `huf.ai.queries.reports`."""

from frappe import _

from huf.ai.queries import reports

USD = {"fieldtype": "Float", "precision": 4}
COLUMNS = (
	{"fieldname": "name", "label": "Run", "fieldtype": "Link", "options": "Agent Run", "width": 120},
	{"fieldname": "creation", "label": "Created", "fieldtype": "Datetime", "width": 190},
	{"fieldname": "agent", "label": "Agent", "fieldtype": "Link", "options": "Agent", "width": 160},
	{"fieldname": "status", "label": "Status", "fieldtype": "Data", "width": 90},
	{"fieldname": "stop_reason", "label": "Stop Reason", "fieldtype": "Data", "width": 110},
	{"fieldname": "model", "label": "Model", "fieldtype": "Data", "width": 160},
	{"fieldname": "run_as", "label": "User", "fieldtype": "Link", "options": "User", "width": 160},
	{"fieldname": "steps", "label": "Steps", "fieldtype": "Int", "width": 70},
	{"fieldname": "total_tokens", "label": "Tokens", "fieldtype": "Int", "width": 90},
	{"fieldname": "total_cost", "label": "Cost (USD)", "width": 90, **USD},
	{"fieldname": "duration_ms", "label": "Duration (ms)", "fieldtype": "Int", "width": 100},
)


def execute(filters=None):
	columns = [{**column, "label": _(column["label"])} for column in COLUMNS]
	return columns, reports.list_report_runs(filters or {})
