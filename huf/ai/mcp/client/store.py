"""Writes servers' answers and OAuth tokens to MCP Server Connection rows, even for users who may not change
them.
"""

import json
import time
from typing import Any

import frappe
from frappe.utils import now
from frappe.utils.password import get_decrypted_password, set_encrypted_password

from huf.ai.mcp.client.definitions import ToolDefinition
from huf.ai.tools.schema_cleaning import strip_invisible_json

CONNECTION, TOOL = "MCP Server Connection", "MCP Server Tool"
GRANT = "oauth_grant"
"""Key of the OAuth tokens among a connection's secrets. Not a field of the DocType, so no form can set it."""
REFRESH_S = 20
"""How long other calls wait for the one that refreshes the tokens, in case its worker is lost."""


def read_offered(text: str | None) -> dict[str, ToolDefinition]:
	"""The tools of a connection's field `offered`, by name."""
	return {each["name"]: ToolDefinition(**each) for each in strip_invisible_json(json.loads(text or "[]"))}


def write_offered(connection: str, tools: list[ToolDefinition], **state: Any) -> None:
	"""Store the tools that the server offers now. Does not commit."""
	offered = json.dumps([vars(each) for each in tools], ensure_ascii=False)
	write_state(connection, offered=offered, **state)


def write_state(connection: str, **values: Any) -> None:
	values = {"checked_at": now(), "error": None, **values}
	frappe.db.set_value(CONNECTION, connection, values, update_modified=False)
	frappe.clear_document_cache(CONNECTION, connection)


def write_tool(connection: str, tool: str, offered: ToolDefinition | None, status: str) -> None:
	"""Store how the server describes a tool now (None: it is gone), and the status of its row. Commits."""
	tools = read_offered(frappe.db.get_value(CONNECTION, connection, "offered"))
	tools.pop(tool, None)
	if offered:
		tools[tool] = offered
	write_offered(connection, list(tools.values()))
	# By filters, because somebody may have removed the row.
	row = {"parent": connection, "tool_name": tool}
	frappe.db.set_value(TOOL, row, {"status": status}, update_modified=False)
	frappe.db.commit()


def clear_grant(connection: str) -> None:
	"""Delete the tokens of a connection whose server was changed. Does not commit."""
	set_encrypted_password(CONNECTION, connection, "{}", GRANT)


class ConnectionVault:
	"""Stores the grant of a connection among its secrets: the OAuth client, tokens and metadata."""

	def __init__(self, connection: str):
		self.connection = connection

	def read(self) -> dict:
		stored = get_decrypted_password(CONNECTION, self.connection, GRANT, raise_exception=False)
		return json.loads(stored or "{}")

	def write(self, grant: dict) -> None:
		"""Commits at once, because an authorization server may accept a refresh token only once."""
		set_encrypted_password(CONNECTION, self.connection, json.dumps(grant), GRANT)
		frappe.db.commit()

	def claim_refresh(self, refresh_token: str) -> bool:
		"""Reserve the stored refresh token for the caller; False if it is reserved, or another one is stored.
		Commits.
		"""
		# The lock is waited for at the beginning of a transaction, so that the grant is read as it is now.
		frappe.db.commit()
		frappe.db.get_value(CONNECTION, self.connection, "name", for_update=True)
		grant = self.read()
		stored = (grant.get("tokens") or {}).get("refresh_token")
		is_free = stored == refresh_token and (grant.get("refresh_until") or 0) < time.time()
		if is_free:
			self.write({**grant, "refresh_until": time.time() + REFRESH_S})
		frappe.db.commit()
		return is_free
