"""Moves documents through the site's workflows as the Actions menu of Desk does.

Saving a new state, submitting or cancelling past the workflow would skip its rule about self-approval and
leave state and docstatus apart.
"""

from collections.abc import Mapping
from typing import Any

import frappe

from huf.ai.core.errors import ToolError


def find_workflow(doctype: str) -> Any:
	"""The active Workflow of a DocType, or None."""
	name = frappe.get_meta(doctype).get_workflow()
	return frappe.get_cached_doc("Workflow", name) if name else None


def state_property(doctype: str) -> dict:
	"""The JSON schema of the state field, by its name; {} without a workflow. Forms hide the field."""
	if not (workflow := find_workflow(doctype)):
		return {}
	states = list(dict.fromkeys(row.state for row in workflow.states))
	about = f"Moves the document as the workflow {workflow.name} allows"
	return {workflow.workflow_state_field: {"type": "string", "enum": states, "description": about}}


def take_state(doc: Any, values: Mapping[str, Any]) -> tuple[str | None, dict]:
	"""(the workflow state that values ask for, the other values); no state if it is the document's own."""
	workflow = find_workflow(doc.doctype)
	if not workflow or workflow.workflow_state_field not in values:
		return None, dict(values)
	others = {key: value for key, value in values.items() if key != workflow.workflow_state_field}
	state = values[workflow.workflow_state_field]
	return (None if state == doc.get(workflow.workflow_state_field) else state), others


def move_to_state(doc: Any, state: str) -> Any:
	"""Apply the action that leads to a state; return the document as stored. Raises ToolError."""
	from frappe.model.workflow import apply_workflow

	transitions = list_transitions(doc)
	actions = [each.action for each in transitions if each.next_state == state]
	if not actions:
		raise ToolError(f"You may not move {doc.doctype} {doc.name} to {state!r}. {name_states(transitions)}")
	apply_workflow(doc, actions[-1])
	moved = frappe.get_doc(doc.doctype, doc.name)
	if moved.get(find_workflow(doc.doctype).workflow_state_field) != state:
		raise ToolError(f"The action {actions[-1]!r} did not move {doc.doctype} {doc.name} to {state!r}.")
	return moved


def list_transitions(doc: Any) -> list:
	from frappe.model.workflow import get_transitions

	return get_transitions(doc)


def name_states(transitions: list) -> str:
	return (
		f"Next states for you: {', '.join(dict.fromkeys(each.next_state for each in transitions)) or 'none'}."
	)


def check_workflow_allows(doc: Any, action: str) -> None:
	"""Raise ToolError where Desk offers a workflow's actions in place of Submit, or of Cancel."""
	workflow = find_workflow(doc.doctype)
	if not workflow or (action == "cancel" and not leads_to_cancelled(workflow)):
		return
	field, known = workflow.workflow_state_field, name_states(list_transitions(doc))
	raise ToolError(f"{doc.doctype} follows the workflow {workflow.name}: set {field} instead. {known}")


def leads_to_cancelled(workflow: Any) -> bool:
	cancelled = {each.state for each in workflow.states if str(each.doc_status) == "2"}
	return any(each.next_state in cancelled for each in workflow.transitions)


def first_state(doctype: str) -> dict:
	"""The value of the state field in a new document; {} without a workflow."""
	workflow = find_workflow(doctype)
	return {workflow.workflow_state_field: workflow.states[0].state} if workflow else {}
