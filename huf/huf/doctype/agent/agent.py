import json

import frappe
from frappe import _
from frappe.model.document import Document
from frappe.utils import flt

from huf.ai.core.field_values import check_field_values
from huf.ai.tools.call_policy import check_allowed_hosts
from huf.ai.tools.types import list_tool_names

HELD_FIELDS = ("instructions", "model", "provider")
"""Fields whose changes can be held until the agent's eval cases pass."""


class Agent(Document):
	def validate(self):
		check_field_values(self)
		check_allowed_hosts(self)
		self.match_provider()
		self.check_tools()
		self.check_range("temperature", 2)
		self.check_range("top_p", 1)
		self.keep_pending_changes()
		self.hold_back()

	def keep_pending_changes(self):
		"""Only `hold_back` sets them, never a form, which can only let them go."""
		if self.pending_changes:
			before = self.get_doc_before_save()
			self.pending_changes = before.pending_changes if before else None

	def hold_back(self):
		"""Move changes that must pass the eval cases to `pending_changes` and restore the old values."""
		before = self.get_doc_before_save()
		if not (before and before.hold_changes and self.hold_changes) or self.flags.cases_passed:
			return
		changes = {
			name: self.get(name)
			for name in HELD_FIELDS
			if (self.get(name) or None) != (before.get(name) or None)
		}
		if changes:
			self.pending_changes = json.dumps(
				{**json.loads(self.pending_changes or "{}"), **changes}, indent=1
			)
			self.update({name: before.get(name) for name in changes})

	def match_provider(self):
		"""Keep provider and model consistent: a model brings its provider, a provider needs a model."""
		before = self.get_doc_before_save()
		is_asked = self.provider and (not before or self.provider != before.provider)
		of_model = frappe.db.get_value("AI Model", self.model, "provider") if self.model else None
		if is_asked and not self.model:
			frappe.throw(_("Choose a model of {0}, or leave the provider blank.").format(self.provider))
		if is_asked and self.provider != of_model:
			is_new_model = not before or self.model != before.model
			same = None if is_new_model else self.find_model_at(self.provider)
			if not same:
				message = _("The model {0} is of {1}, not of {2}. Choose a model of {2}.")
				frappe.throw(message.format(self.model, of_model, self.provider))
			self.model, of_model = same, self.provider
		self.provider = of_model

	def find_model_at(self, provider: str) -> str | None:
		"""The AI Model that is this agent's model at another provider."""
		model_id = frappe.db.get_value("AI Model", self.model, "model_id") or self.model
		for own in ({"name": model_id}, {"model_id": model_id}):
			if found := frappe.db.get_value("AI Model", {"provider": provider, **own}):
				return found
		return None

	def on_trash(self):
		"""Delete the agent's eval cases with their results, and the facts that only it reads."""
		for doctype in ("Agent Eval Case", "Agent Eval Run", "Agent Memory"):
			frappe.db.delete(doctype, {"agent": self.name})

	def check_tools(self):
		tools = [
			name
			for row in self.agent_tool
			for name in list_tool_names(
				row.tool, frappe.get_cached_value("Agent Tool Function", row.tool, "types")
			)
		]
		if twice := {tool for tool in tools if tools.count(tool) > 1}:
			frappe.throw(
				_("These tools are listed twice: {0}. Remove one of each.").format(", ".join(sorted(twice)))
			)

	def check_range(self, fieldname: str, maximum: float):
		if not 0 <= flt(self.get(fieldname)) <= maximum:
			frappe.throw(
				_("{0} must be between 0 and {1}.").format(_(self.meta.get_label(fieldname)), maximum)
			)
