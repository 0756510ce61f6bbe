"""What runs cost, by agent, model or user. The rows are read by `huf.ai.records.reports`."""

from frappe import _

from huf.ai.records import reports

COLUMNS = (
	{"fieldname": "grouped", "label": "Group", "fieldtype": "Data", "width": 220},
	{"fieldname": "runs", "label": "Runs", "fieldtype": "Int", "width": 80},
	{"fieldname": "successes", "label": "Successes", "fieldtype": "Int", "width": 100},
	{"fieldname": "tokens", "label": "Tokens", "fieldtype": "Int", "width": 110},
	{"fieldname": "cost", "label": "Cost", "fieldtype": "Currency", "options": "USD", "width": 110},
	{"fieldname": "unpriced", "label": "Runs without Price", "fieldtype": "Int", "width": 140},
)


def execute(filters=None):
	columns = [{**column, "label": _(column["label"])} for column in COLUMNS]
	return columns, reports.sum_costs(filters or {})
