import frappe
from frappe import _
from frappe.model.document import Document

from huf.ai.tool_types import names_of


class Agent(Document):
	def validate(self):
		self.check_tools()
		self.check_range("temperature", 2)
		self.check_range("top_p", 1)

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
