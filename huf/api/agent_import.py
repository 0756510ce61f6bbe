"""Endpoints that make agents from an export of another program; see `huf.ai.setup.agent_import`."""

import frappe

from huf.ai.setup.agent_import import import_agents


@frappe.whitelist(methods=["POST"])
def preview(content: str):
	"""What an import of the export's text would make, and what of it would not map. Saves nothing."""
	return import_agents(content, is_dry_run=True)


@frappe.whitelist(methods=["POST"])
def create(content: str):
	"""Make the agents; the same report."""
	return import_agents(content)
