import re

import frappe
from frappe import _
from frappe.model.document import Document

from huf.ai.core.field_values import check_field_values
from huf.ai.tools.fields import may_read_instructions

SLUG = re.compile(r"[a-z0-9][a-z0-9-]{0,62}")


class MCPServer(Document):
	def validate(self):
		check_field_values(self)
		self.slug = self.slug or re.sub(r"[^a-z0-9]+", "-", self.server_name.lower()).strip("-")
		if not SLUG.fullmatch(self.slug):
			frappe.throw(_("Write the address with lowercase letters, digits and hyphens."))
		self.check_tools()
		self.check_skills()

	def check_tools(self):
		"""A tool runs as a tool of the agent, so the agent must have it."""
		tools = {row.offer for row in self.offers if row.offer_type == "Agent Tool Function"}
		if not tools:
			return
		if not self.agent:
			frappe.throw(_("Choose the agent whose tools these are."))
		slots = {slot.tool for slot in frappe.get_cached_doc("Agent", self.agent).agent_tool}
		if missing := tools - slots:
			frappe.throw(
				_("{0} does not have these tools: {1}. Add them to the agent first.").format(
					self.agent, ", ".join(sorted(missing))
				)
			)

	def check_skills(self):
		"""Users can publish only instructions that they may read."""
		is_asked = any(row.as_skill or row.offer_type == "Agent Pack" for row in self.offers)
		if is_asked and not may_read_instructions():
			frappe.throw(
				_("Only people who may read instructions can offer them as skills."), frappe.PermissionError
			)
