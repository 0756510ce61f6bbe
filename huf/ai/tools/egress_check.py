"""What stands between a tool that reaches outside and a run that has read strangers' words: see
`huf.ai.core.egress`.
"""

import frappe

from huf.ai.core.egress import TYPES_WITHOUT_DESTINATION, OutboundCall, UntrustedSource, find_egress_risk
from huf.ai.tools.taint import find_untrusted_sources, read_untrusted_text


def find_egress_approval_reason(row, agent, arguments: dict) -> str | None:
	"""Why a person has to allow a call of an external tool in the present run (`row`: its record); None:
	nobody has to.
	"""
	run = frappe.flags.huf_run
	if row.types in TYPES_WITHOUT_DESTINATION or not (sources := find_untrusted_sources(run)):
		return None
	hosts = ((agent and agent.allowed_hosts) or "").split()
	seen = read_untrusted_text(run) if sources == {UntrustedSource.WEB} else ""
	return find_egress_risk(to_outbound_call(row, arguments), sources, hosts, seen)


def to_outbound_call(row, arguments: dict) -> OutboundCall:
	"""A tool of an app may have another name here: what it reaches is the same."""
	offered = row.function_path if row.types == "App Provided" else None
	return OutboundCall(offered or row.tool_name, row.types, arguments, row.base_url)
