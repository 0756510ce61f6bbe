"""What models cost, by agent, model or user. The rows are read by `huf.ai.queries.reports`."""

from frappe import _

from huf.ai.queries import reports

USD = {"fieldtype": "Float", "precision": 4}
COLUMNS = (
	{"fieldname": "grouped", "label": "Group", "fieldtype": "Data", "width": 220},
	{"fieldname": "runs", "label": "Runs", "fieldtype": "Int", "width": 80},
	{"fieldname": "successes", "label": "Successes", "fieldtype": "Int", "width": 100},
	{"fieldname": "tokens", "label": "Tokens", "fieldtype": "Int", "width": 110},
	{"fieldname": "cost", "label": "Cost (USD)", "width": 110, **USD},
	{"fieldname": "unpriced", "label": "Cost Unknown", "fieldtype": "Int", "width": 160},
)


def execute(filters=None):
	columns = [{**column, "label": _(column["label"])} for column in COLUMNS]
	rows = reports.sum_costs(filters := filters or {})
	if filters.get("group_by") in (None, "", "Agent"):
		for row in rows:
			row.grouped = row.grouped or _("Outside runs")
	return columns, rows, None, draw(rows)


def draw(rows: list[dict]) -> dict:
	"""The dearest five, as shares above the rows."""
	dearest = [row for row in rows if row["cost"]][:5]
	data = {
		"labels": [row["grouped"] or "" for row in dearest],
		"datasets": [{"name": _("Cost (USD)"), "values": [row["cost"] for row in dearest]}],
	}
	# Without an axis, on which the Desk rounds what is below a dollar.
	return {"data": data, "type": "percentage", "height": 140} if dearest else {}
