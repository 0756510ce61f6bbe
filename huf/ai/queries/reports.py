"""Queries of the Desk reports, with the session user's permissions. Read-only."""

from typing import Any

import frappe

from huf.permissions import list_condition

MAX_ROWS = 1000
GROUPS = {
	"Agent": ("agent", "null"),
	"Model": ("model", "nullif(model, '')"),
	"User": ("run_as", "owner"),
	"Trigger": ("`trigger`", "null"),
}
"""What costs are grouped by: columns of Agent Run and of Agent LLM Call."""
DAY = "date(creation)"
RUN, CALL, MODEL_CALL = "Agent Run", "Agent Tool Call", "Agent LLM Call"


def build_conditions(doctype: str, filters: dict, *fields: str) -> str:
	"""SQL condition of a report: the user's permissions, from_date and to_date of `creation`, and other set
	filters.
	"""
	table = f"`tab{doctype}`"
	parts = [list_condition(frappe.session.user, doctype)]
	if filters.get("from_date"):
		parts.append(f"{table}.creation >= %(from_date)s")
	if filters.get("to_date"):
		parts.append(f"{table}.creation <= %(until)s")
	parts += [f"{table}.{field} = %({field})s" for field in fields if filters.get(field)]
	return " and ".join(filter(None, parts)) or "1 = 1"


def run_query(query: str, filters: dict) -> list[Any]:
	values = {**filters, "until": f"{filters.get('to_date')} 23:59:59.999999"}
	return frappe.db.sql(query, values, as_dict=True)


def select_spending(filters: dict, run_key: str, call_key: str = "null") -> str:
	"""A subquery of what models cost by a key: grouped, runs, successes, failures, tokens, cost, unpriced.

	It counts runs, and model calls outside runs, such as those of evals, vectors and route decisions. A key
	may have several rows. By model, what runs used is summed over their calls, because several models may
	answer a run.
	"""
	runs, of_runs = f"from `tab{RUN}` where {build_conditions(RUN, filters)}", ""
	used = """sum(total_tokens) as tokens, sum(total_cost) as cost,
		sum(case when unpriced_calls > 0 then 1 else 0 end) as unpriced"""
	calls = f"""union all select {call_key}, 0, 0, 0,
		sum(coalesce(input_tokens, 0) + coalesce(output_tokens, 0)), sum(cost),
		count(distinct case when status = 'Success' and cost_known = 0 then coalesce(run, name) end)
		from `tab{MODEL_CALL}`"""
	if (run_key, call_key) == GROUPS["Model"]:
		used = "0 as tokens, 0 as cost, 0 as unpriced"
		of_runs = f"{calls} where run in (select name {runs}) group by 1"
	return f"""(select {run_key} as grouped, count(*) as runs,
		sum(case when status = 'Success' then 1 else 0 end) as successes,
		sum(case when status in ('Failed', 'Stopped') then 1 else 0 end) as failures,
		{used} {runs} group by 1 {of_runs}
		{calls} where run is null and {build_conditions(MODEL_CALL, filters)} group by 1) spending"""


def list_report_runs(filters: dict) -> list[dict]:
	"""The newest runs, at most MAX_ROWS. A run with calls of unknown price has the cost None."""
	return run_query(
		f"""select name, creation, agent, status, stop_reason, model, run_as, steps, total_tokens,
		case when unpriced_calls > 0 then null else total_cost end as total_cost, duration_ms
		from `tabAgent Run` where {build_conditions(RUN, filters, "agent", "status")}
		order by creation desc, name limit {MAX_ROWS}""",
		filters,
	)


def sum_costs(filters: dict) -> list[dict]:
	"""Runs, tokens and USD by `group_by` (one of GROUPS). The cost of `unpriced` runs and calls is not fully
	known. Model calls outside runs belong to no agent and no trigger.
	"""
	keys = GROUPS.get(filters.get("group_by") or "", GROUPS["Agent"])
	return run_query(
		f"""select grouped, sum(runs) as runs, sum(successes) as successes, sum(tokens) as tokens,
		sum(cost) as cost, sum(unpriced) as unpriced from {select_spending(filters, *keys)}
		group by grouped having sum(runs) > 0 or sum(tokens) > 0 or sum(cost) > 0 or sum(unpriced) > 0
		order by cost desc, grouped""",
		filters,
	)


def sum_days(period: dict) -> list[Any]:
	"""A row for each day on which models were used: {day, runs, successes, failures, cost, unpriced}."""
	return run_query(
		f"""select grouped as day, sum(runs) as runs, sum(successes) as successes, sum(failures) as failures,
		sum(cost) as cost, sum(unpriced) as unpriced
		from {select_spending(period, DAY, DAY)} group by grouped order by grouped""",
		period,
	)


def list_failures(filters: dict) -> list[dict]:
	"""The newest tool calls that failed, were refused or have an unknown outcome; at most MAX_ROWS."""
	return run_query(
		f"""select name, creation, tool, status, effect, run, error_message from `tabAgent Tool Call`
		where {build_conditions(CALL, filters, "tool")} and status in ('Failed', 'Refused', 'Unknown')
		order by creation desc, name limit {MAX_ROWS}""",
		filters,
	)


def time_tools(filters: dict) -> list[dict]:
	"""Durations of tools, slowest first; results from a run's cache are not counted."""
	return run_query(
		f"""select tool, count(*) as calls, avg(duration_ms) as average_ms, max(duration_ms) as longest_ms,
		sum(case when status = 'Success' then 0 else 1 end) as failures from `tabAgent Tool Call`
		where {build_conditions(CALL, filters)} and status != 'Started' and (cached is null or cached = 0)
		group by tool order by average_ms desc, tool""",
		filters,
	)
