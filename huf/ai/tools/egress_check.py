"""Decides whether an external call of a run that read untrusted content needs a person (see
`core/egress.py`).
"""

import frappe

from huf.ai.core.egress import TYPES_WITHOUT_DESTINATION, OutboundCall, UntrustedSource, find_egress_risk
from huf.ai.tools.taint import find_untrusted_sources, read_untrusted_text


def find_egress_approval_reason(row, agent, arguments: dict) -> str | None:
	"""Why a person must allow an external call in the current run; None if nobody must. `row`: the tool's
	record.
	"""
	run = frappe.flags.huf_run
	if row.types in TYPES_WITHOUT_DESTINATION or not (sources := find_untrusted_sources(run)):
		return None
	hosts = ((agent and agent.allowed_hosts) or "").split()
	seen = read_untrusted_text(run) if sources == {UntrustedSource.WEB} else ""
	return find_egress_risk(to_outbound_call(row, arguments), sources, hosts, seen)


def to_outbound_call(row, arguments: dict) -> OutboundCall:
	"""The call with the name that the app gave the tool, which the site may have renamed."""
	offered = row.function_path if row.types == "App Provided" else None
	return OutboundCall(offered or row.tool_name, row.types, arguments, row.base_url)
