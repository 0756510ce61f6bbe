"""What stands between a tool that reaches outside and a run that has read strangers' words: see `huf.ai.core.egress`."""

import frappe

from huf.ai.core.egress import TYPES_WITHOUT_DESTINATION, OutboundCall, UntrustedSource, find_egress_risk
from huf.ai.tools.taint import seen_in, sources_of


def why_person(row, agent, arguments: dict) -> str | None:
	"""Why a person has to allow a call of an external tool in the present run (`row`: its record); None: nobody has to."""
	run = frappe.flags.huf_run
	if row.types in TYPES_WITHOUT_DESTINATION or not (sources := sources_of(run)):
		return None
	hosts = ((agent and agent.allowed_hosts) or "").split()
	seen = seen_in(run) if sources == {UntrustedSource.WEB} else ""
	return find_egress_risk(exit_of(row, arguments), sources, hosts, seen)


def exit_of(row, arguments: dict) -> OutboundCall:
	"""A tool of an app may have another name here: what it reaches is the same."""
	offered = row.function_path if row.types == "App Provided" else None
	return OutboundCall(offered or row.tool_name, row.types, arguments, row.base_url)
