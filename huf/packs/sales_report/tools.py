"""The sales report: orders by region and year, with the user's permissions. Read-only."""

from collections.abc import Iterable
from datetime import date
from typing import Any

import frappe

from huf.ai.core.errors import ToolError
from huf.ai.core.types import Effect
from huf.ai.tools.registry import tool

ORDER, REGION = "Shop Order", "Shop Region"
ALL, CURRENCY = "ALL", "EUR"
CANCELLED = "Cancelled"
PARAMETERS = {
	"type": "object",
	"properties": {
		"region": {
			"type": "string",
			"description": "A region; ALL or left out: every region",
			"examples": ["EMEA", "AMER", "APAC", "LATAM", "ALL"],
		},
		"year": {"type": "integer", "description": "The year of the orders; left out: every year"},
	},
	"additionalProperties": False,
}


@tool("Generate sales reports by region and year", effect=Effect.READ, parameters=PARAMETERS)
async def sales_report_tool(args: dict[str, Any], user_context: dict[str, Any]) -> dict[str, Any]:
	"""{tool, region, year, currency, data: [{region, year, orders, total, average}], summary}; without
	cancelled orders.
	"""
	region, year = read_region(args.get("region")), read_year(args.get("year"))
	data = sum_orders(read_orders(region, year))
	return {
		"tool": "sales_report_tool",
		"region": region or ALL,
		"year": year,
		"currency": CURRENCY,
		"data": data,
		"summary": summarize(region, year, data),
	}


def read_region(given: str | None) -> str | None:
	"""The region's name as on record; None for all regions. Raises ToolError for an unknown region."""
	wanted = (given or ALL).strip()
	if wanted.upper() == ALL:
		return None
	known = {name.casefold(): name for name in frappe.get_list(REGION, pluck="name", order_by="name asc")}
	if wanted.casefold() not in known:
		raise ToolError(f"There is no region {wanted!r}. Known: {', '.join(known.values())}, or ALL.")
	return known[wanted.casefold()]


def read_year(given: int | None) -> int | None:
	if given is not None and not 1900 <= given <= 9999:
		raise ToolError(f"{given} is not a year with four digits.")
	return given


def read_orders(region: str | None, year: int | None) -> list:
	filters: list = [["status", "!=", CANCELLED]]
	if region:
		filters.append(["region", "=", region])
	if year:
		filters.append(["order_date", "between", [date(year, 1, 1), date(year, 12, 31)]])
	return frappe.get_list(
		ORDER,
		filters=filters,
		fields=["region", "order_date", "amount"],
		order_by="order_date asc",
		limit_page_length=0,
	)


def sum_orders(orders: Iterable) -> list[dict]:
	"""One row for each region and year with orders."""
	found: dict[tuple[str, int], list[float]] = {}
	for order in orders:
		found.setdefault((order.region, order.order_date.year), []).append(order.amount or 0)
	return [
		{
			"region": region,
			"year": year,
			"orders": len(amounts),
			"total": round(sum(amounts), 2),
			"average": round(sum(amounts) / len(amounts), 2),
		}
		for (region, year), amounts in sorted(found.items())
	]


def summarize(region: str | None, year: int | None, data: list[dict]) -> str:
	about = f"Sales report for region={region or ALL}, year={year or 'all'}"
	orders, total = sum(row["orders"] for row in data), sum(row["total"] for row in data)
	return f"{about}: {orders} orders, {CURRENCY} {total:,.2f}" if data else f"{about}: no orders"
