"""How long tools take. The rows are read by `huf.ai.queries.reports`."""

from frappe import _

from huf.ai.queries import reports

COLUMNS = (
	{"fieldname": "tool", "label": "Tool", "fieldtype": "Data", "width": 220},
	{"fieldname": "calls", "label": "Calls", "fieldtype": "Int", "width": 80},
	{"fieldname": "average_ms", "label": "Average (ms)", "fieldtype": "Float", "width": 120},
	{"fieldname": "longest_ms", "label": "Longest (ms)", "fieldtype": "Int", "width": 120},
	{"fieldname": "failures", "label": "Unsuccessful", "fieldtype": "Int", "width": 140},
)


def execute(filters=None):
	columns = [{**column, "label": _(column["label"])} for column in COLUMNS]
	return columns, reports.time_tools(filters or {})
