"""Makes agents from an export of another program, with a report of what did not map."""

from typing import Any

import frappe
from frappe import _

from huf.ai.setup.agent_exports import ExportedAgent, parse_export
from huf.ai.setup.tool_templates import find_free_name

AGENT, MODEL = "Agent", "AI Model"
SAVEPOINT = "huf_agent_import"
MAX_NAME_CHARS = 100


def import_agents(text: str, is_dry_run: bool = False) -> dict[str, Any]:
	"""Make an Agent of each agent of an export, all or none, with the user's permissions. Does not commit.

	Returns {agents: [{name, instructions, model, settings, unmapped}], unmapped}. `unmapped`: what did not
	map, as lines. `model`: the AI Model, None for the site's default. A dry run makes the agents and takes
	them back. Raises UsageError, PermissionError, ValidationError.
	"""
	frappe.has_permission(AGENT, "create", throw=True)
	exported, unmapped = parse_export(text)
	frappe.db.savepoint(SAVEPOINT)
	try:
		agents = [import_agent(each) for each in exported]
	except Exception:  # re-raised: if one agent is refused, none is imported
		frappe.db.rollback(save_point=SAVEPOINT)
		raise
	if is_dry_run:
		frappe.db.rollback(save_point=SAVEPOINT)
	return {"agents": agents, "unmapped": unmapped}


def import_agent(exported: ExportedAgent) -> dict[str, Any]:
	"""Create an agent: {name, instructions, model, settings, unmapped}. `unmapped`: sentences about what was
	left out.
	"""
	name = find_free_name(AGENT, " ".join(exported.name.split())[:MAX_NAME_CHARS] or _("Imported agent"))
	model, unmapped = find_model(exported.model), list(exported.unmapped)
	if exported.model and not model:
		unmapped.append(
			_("The model {0} is not connected here; the agent uses the default.").format(exported.model)
		)
	mapped = {"instructions": exported.instructions, "model": model}
	frappe.get_doc({"doctype": AGENT, "agent_name": name, **mapped, **exported.settings}).insert()
	return {"name": name, **mapped, "settings": exported.settings, "unmapped": unmapped}


def find_model(wanted: str) -> str | None:
	"""The AI Model of this name, or with this ID at its provider."""
	if not wanted:
		return None
	return frappe.db.get_value(MODEL, {"model_name": wanted}) or frappe.db.get_value(
		MODEL, {"model_id": wanted}, order_by="name asc"
	)
