"""Endpoints that undo changes of runs as the session user; see `huf.ai.undo.undo`."""

import frappe

from huf.ai.undo import undo
from huf.ai.undo.scope import parse_scope


@frappe.whitelist(methods=["POST"])
def preview(
	runs: list | str | None = None,
	agent: str | None = None,
	since: str | None = None,
	trigger: str | None = None,
	doctype: str | None = None,
	name: str | None = None,
	decisions: dict | str | None = None,
):
	"""Preview the undo of some runs, or of what an agent, a trigger's runs, or runs on one record (`doctype`
	and `name`) did since a time. Changes nothing.

	Returns {runs, digest, difference, conflicts, problems, notes, external, untraced, hidden, kept}; pass the
	digest and the decisions about conflicts to `apply`.
	"""
	return undo.preview_undo(parse_scope(runs, agent, since, trigger, doctype, name), decisions)


@frappe.whitelist(methods=["POST"])
def apply(
	digest: str,
	runs: list | str | None = None,
	agent: str | None = None,
	since: str | None = None,
	trigger: str | None = None,
	doctype: str | None = None,
	name: str | None = None,
	decisions: dict | str | None = None,
):
	"""Undo the previewed changes, identified by the digest, in one transaction: {run, restored}."""
	return undo.apply_undo(parse_scope(runs, agent, since, trigger, doctype, name), digest, decisions)
