import json

import frappe
from frappe import _
from frappe.model.document import Document

from huf.ai.tools.types import names_of

HELD = ("instructions", "model", "provider")
"""What a change of may have to wait for the agent's eval cases."""


class Agent(Document):
	def validate(self):
		self.check_tools()
		self.check_range("temperature", 2)
		self.check_range("top_p", 1)
		self.hold_back()

	def hold_back(self):
		"""Where a change has to pass the cases first, keep it beside the agent, and the agent as it was."""
		before = self.get_doc_before_save()
		if not (before and before.hold_changes and self.hold_changes) or self.flags.cases_passed:
			return
		changes = {
			name: self.get(name) for name in HELD if (self.get(name) or None) != (before.get(name) or None)
		}
		if changes:
			self.pending_changes = json.dumps(
				{**json.loads(self.pending_changes or "{}"), **changes}, indent=1
			)
			self.update({name: before.get(name) for name in changes})

	def on_trash(self):
		"""Its cases go with it: they are of use to no other."""
		frappe.db.delete("Agent Eval Case", {"agent": self.name})

	def check_tools(self):
		tools = [
			name
			for row in self.agent_tool
			for name in names_of(row.tool, frappe.get_cached_value("Agent Tool Function", row.tool, "types"))
		]
		if twice := {tool for tool in tools if tools.count(tool) > 1}:
			frappe.throw(_("The agent has these tools twice: {0}").format(", ".join(sorted(twice))))

	def check_range(self, fieldname: str, highest: float):
		if not 0 <= (self.get(fieldname) or 0) <= highest:
			frappe.throw(
				_("{0} must be between 0 and {1}.").format(_(self.meta.get_label(fieldname)), highest)
			)
