"""Many who run one agent at once until its budget is spent: `python -m huf.tests.spenders SITE SITES_PATH
AGENT THREADS`.

Half of them watch the answer come in, the others ask for it whole.
"""

import contextvars
import sys
import threading
from functools import partial

from huf.tests.crash.killer import preload


def spend(site: str, sites_path: str, agent: str, number: int) -> None:
	import frappe

	from huf.ai.core.types import AgentRequest, StopReason
	from huf.ai.runs.entry import run_agent

	frappe.init(site, sites_path=sites_path)
	frappe.connect()
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


def main(site: str, sites_path: str, agent: str, threads: str) -> None:
	preload(site, sites_path)
	spenders = [
		threading.Thread(
			target=contextvars.Context().run, args=(partial(spend, site, sites_path, agent, number),)
		)
		for number in range(int(threads))
	]
	for spender in spenders:
		spender.start()
	print("spending", flush=True)
	for spender in spenders:
		spender.join()


if __name__ == "__main__":
	main(*sys.argv[1:])
