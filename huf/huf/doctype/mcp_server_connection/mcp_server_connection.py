import re
from urllib.parse import urlsplit

import frappe
from frappe import _
from frappe.model.document import Document

from huf.ai.core.field_values import check_field_values, throwing
from huf.ai.core.stored_secrets import (
	delete_removed_secrets,
	delete_row_secrets,
	keeps_secret,
	refuse_address,
	require_row_secrets,
	require_secret_again,
)
from huf.ai.core.types import Effect
from huf.ai.mcp.client.connections import get_command
from huf.ai.mcp.client.definitions import ToolDefinition, diff_definitions
from huf.ai.mcp.client.store import clear_grant, read_offered
from huf.ai.storage.jobs import enqueue_job
from huf.ai.tools.schema_cleaning import make_tool_name

STATE_FIELDS = ("state", "server", "checked_at", "error", "offered")
CONNECTED_BY = ("transport", "url", "command", "auth", "allow_private_hosts", "disabled")
"""If one of these fields changes, the server is asked for its tools again."""
REFRESH = "huf.ai.mcp.client.connections.refresh_connection"
CHOICES = ("chosen", "effect", "requires_approval")
"""Fields of a tool's row that people set; all others come from the server or from an acceptance."""
FUNCTION = "Agent Tool Function"


class MCPServerConnection(Document):
	"""A server whose tools agents may use; each chosen tool has an Agent Tool Function."""

	def validate(self):
		self.keep_state()
		check_field_values(self)
		self.check_address()
		self.check_authentication()
		self.check_secrets()
		self.set_tools()

	def on_update(self):
		frappe.clear_document_cache(self.doctype, self.name)
		delete_removed_secrets(self, "headers")
		self.update_functions()
		if self.get_doc_before_save() is None or any(map(self.has_value_changed, CONNECTED_BY)):
			enqueue_job(REFRESH, after_commit=True, queue="short", name=self.name)

	def on_trash(self):
		delete_row_secrets(self.headers)
		for name in self.functions().values():
			frappe.delete_doc(FUNCTION, name)

	@property
	def origin(self) -> str | None:
		"""Scheme, host and port of the server, without a path or query that may hold a secret."""
		parts = urlsplit(self.url or "")
		return f"{parts.scheme}://{parts.netloc}" if self.transport == "HTTP" else None

	def keep_state(self):
		"""Only the server's answers set these fields, never a form."""
		before = self.get_doc_before_save()
		for fieldname in STATE_FIELDS:
			self.set(fieldname, before.get(fieldname) if before else None)
		self.state = self.state or "New"

	def check_address(self):
		if self.name_prefix and not re.fullmatch(r"[A-Za-z0-9_-]{1,32}", self.name_prefix):
			frappe.throw(_("Use only letters, digits, _ and - in the prefix, and at most 32 of them."))
		if self.transport == "Command":
			with throwing():
				get_command(self.command)
			return
		try:
			parts = urlsplit(self.url or "")
			_port = parts.port  # ValueError for one that there cannot be
		except ValueError:
			frappe.throw(_("{0} is not an address.").format(self.url))
		if parts.scheme not in ("http", "https") or not parts.hostname:
			frappe.throw(_("URL must begin with http:// or https://"))
		if parts.username or parts.password:
			frappe.throw(_("Enter credentials under Authentication, not in the URL."))

	def check_authentication(self):
		if self.auth == "Bearer" and not self.bearer_token:
			frappe.throw(_("Enter the bearer token."))
		if self.auth == "OAuth" and self.grant == "Client Credentials":
			if not (self.client_id and self.client_secret and self.issuer):
				frappe.throw(_("Client credentials need the client ID, its secret and the issuer."))

	def check_secrets(self):
		"""A changed address gets no stored secret: secrets for it have to be entered again."""
		require_row_secrets(self, "headers", "value")
		require_secret_again(self, "url", "bearer_token", "client_secret")
		require_secret_again(self, "issuer", "client_secret")
		before = self.get_doc_before_save()
		if not before or (before.url, before.issuer) == (self.url, self.issuer):
			return
		for row in self.headers:
			if keeps_secret(row, "value"):
				refuse_address(self, "url", row.header)
		clear_grant(self.name)

	def set_tools(self):
		"""A row per tool that the server offers or that was chosen; choosing one accepts its current
		description.
		"""
		before = self.get_doc_before_save()
		stored = {row.tool_name: row for row in before.tools} if before else {}
		given = {row.tool_name: row for row in self.tools}
		offered = read_offered(self.offered)
		names = [*offered, *(name for name, row in stored.items() if row.chosen and name not in offered)]
		rows = [
			self.build_row(n, stored.get(n), given.get(n) or stored.get(n), offered.get(n)) for n in names
		]
		self.set("tools", rows)

	def build_row(self, name: str, stored, given, offered: ToolDefinition | None) -> dict:
		row = {"tool_name": name, **propose_row(offered)}
		if stored:
			row["name"] = stored.name
		if given:
			row.update({field: given.get(field) for field in CHOICES})
			row["effect"] = row["effect"] or Effect.EXTERNAL.value
		accepted = self.find_accepted(stored, given, offered) if row["chosen"] else None
		return {**row, **describe_row(accepted, offered)}

	def find_accepted(self, stored, given, offered: ToolDefinition | None) -> ToolDefinition | None:
		"""The definition that agents may use: the stored one, or the offered one if a person accepts it."""
		is_first = not (stored and stored.definition)
		if not (is_first or given.get("accept_change")):
			return ToolDefinition.parse(stored.definition)
		seen = given.get("schema_hash")
		if is_first and not (seen and offered):
			return offered
		if not offered or seen != offered.digest:
			frappe.throw(
				_("The server now describes {0} differently. Reload, and review the change again.").format(
					given.get("tool_name")
				)
			)
		return offered

	def update_functions(self):
		"""Make, change and delete the Agent Tool Functions of this connection's tools."""
		known = self.functions()
		chosen = [row.tool_name for row in self.tools if row.chosen]
		for tool, name in known.items():
			if tool not in chosen:
				self.delete_function(name)
		for tool in chosen:
			if tool in known:
				frappe.get_doc(FUNCTION, known[tool]).save()
			else:
				self.insert_function(tool)

	def functions(self) -> dict[str, str]:
		"""{tool: name of its Agent Tool Function}"""
		filters = {"mcp_connection": self.name, "types": "MCP Tool"}
		rows = frappe.get_all(FUNCTION, filters, ["name", "mcp_tool"], order_by="name asc")
		return {row.mcp_tool: row.name for row in rows}

	def insert_function(self, tool: str):
		wanted = make_tool_name(self.name_prefix or "", tool)
		taken = [wanted] if frappe.db.exists(FUNCTION, wanted) else []
		name = make_tool_name(self.name_prefix or "", f"{tool}", taken)
		frappe.get_doc(
			{
				"doctype": FUNCTION,
				"tool_name": name,
				"types": "MCP Tool",
				"description": tool,
				"mcp_connection": self.name,
				"mcp_tool": tool,
			}
		).insert()

	def delete_function(self, name: str):
		agents = frappe.get_all("Agent Tool", {"tool": name}, pluck="parent", order_by="parent asc")
		if agents:
			frappe.throw(
				_("{0} is used by {1}. Remove it there first.").format(name, ", ".join(dict.fromkeys(agents)))
			)
		frappe.delete_doc(FUNCTION, name)


def propose_row(offered: ToolDefinition | None) -> dict:
	"""Default settings of a tool. One that declares nothing counts as external and needs approval."""
	effect = offered.proposed_effect if offered else Effect.EXTERNAL
	return {"chosen": 0, "effect": effect.value, "requires_approval": int(effect is Effect.EXTERNAL)}


def describe_row(accepted: ToolDefinition | None, offered: ToolDefinition | None) -> dict:
	"""The computed fields of a tool's row."""
	status = "New" if accepted is None else "Accepted" if accepted == offered else "Changed"
	current = accepted or offered
	return {
		"status": status if offered else "Gone",
		"definition": accepted.as_json() if accepted else None,
		"description": current.description if current else None,
		"schema_hash": offered.digest if offered else None,
		"change": diff_definitions(accepted, offered) if status == "Changed" else None,
		"accept_change": 0,
	}
