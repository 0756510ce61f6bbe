"""Threads that run one agent concurrently until its budget is spent; half of them stream the answer."""

import contextvars
import threading
from functools import partial


def spend_all(site: str, sites_path: str, agent: str, threads: int) -> None:
	spenders = [
		threading.Thread(
			target=contextvars.Context().run, args=(partial(spend, site, sites_path, agent, number),)
		)
		for number in range(threads)
	]
	for spender in spenders:
		spender.start()
	for spender in spenders:
		spender.join()


def spend(site: str, sites_path: str, agent: str, number: int) -> None:
	import frappe

	from huf.ai.core.database_connections import let_updates_wait
	from huf.ai.core.types import AgentRequest, StopReason
	from huf.ai.runs.entry import run_agent

	frappe.init(site, sites_path=sites_path)
	frappe.connect()
	let_updates_wait()
	try:
		while True:
			request = AgentRequest(
				agent, "Spend", "Administrator", external_id=frappe.generate_hash(length=10)
			)
			result = run_agent(request, [lambda event: None] if number % 2 else [])
			if result.stop_reason is StopReason.MONEY_BUDGET:
				return
	finally:
		frappe.destroy()
