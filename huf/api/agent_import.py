"""Endpoints that import agents exported by other programs; see `huf.ai.setup.agent_import`."""

import frappe

from huf.ai.setup.agent_import import import_agents


@frappe.whitelist(methods=["POST"])
def preview(content: str):
	"""Report which agents an import would create, and what would not map. Saves nothing."""
	return import_agents(content, is_dry_run=True)


@frappe.whitelist(methods=["POST"])
def create(content: str):
	"""Create the agents. Returns the same report."""
	return import_agents(content)
