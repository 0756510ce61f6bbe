import json

import frappe
from frappe import _
from frappe.model.document import Document

from huf.ai.tools.types import list_tool_names

HELD_FIELDS = ("instructions", "model", "provider")
"""Fields whose changes can be held until the agent's eval cases pass."""


class Agent(Document):
	def validate(self):
		self.check_tools()
		self.check_range("temperature", 2)
		self.check_range("top_p", 1)
		self.hold_back()

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

	def on_trash(self):
		"""Delete the agent's eval cases with it."""
		frappe.db.delete("Agent Eval Case", {"agent": self.name})

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
		if not 0 <= (self.get(fieldname) or 0) <= maximum:
			frappe.throw(
				_("{0} must be between 0 and {1}.").format(_(self.meta.get_label(fieldname)), maximum)
			)
