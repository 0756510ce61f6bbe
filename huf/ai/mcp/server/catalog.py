"""The base class of catalogs, which provide the tools, resources and prompts of a server.

An app adds a catalog by the hook `huf_mcp_catalogs` (dotted paths of subclasses of Catalog).
"""

from collections.abc import Sequence
from typing import Any

import frappe
from mcp.server.context import HandlerResult, ServerRequestContext
from mcp_types import (
	CallToolRequestParams,
	CompleteRequestParams,
	GetPromptRequestParams,
	Prompt,
	ReadResourceRequestParams,
	Resource,
	ResourceTemplate,
	Tool,
)

from huf.ai.mcp.server.servers import ServerOffer


class Catalog:
	"""One kind of content that a server offers to the session user. Every method has an empty default.

	Lists have a stable order. Methods that read or call return None both for what the user may not use and
	for what the catalog does not have, so that clients cannot tell these apart.
	"""

	def __init__(self, offer: ServerOffer):
		self.offer = offer

	def list_tools(self) -> Sequence[Tool]:
		return ()

	async def call_tool(self, ctx: ServerRequestContext, params: CallToolRequestParams) -> HandlerResult:
		return None

	def list_resources(self) -> Sequence[Resource]:
		return ()

	def list_resource_templates(self) -> Sequence[ResourceTemplate]:
		return ()

	async def read_resource(
		self, ctx: ServerRequestContext, params: ReadResourceRequestParams
	) -> HandlerResult:
		return None

	def list_prompts(self) -> Sequence[Prompt]:
		return ()

	async def get_prompt(self, ctx: ServerRequestContext, params: GetPromptRequestParams) -> HandlerResult:
		return None

	def list_skills(self) -> Sequence[Any]:
		"""Objects with `uri` and `describe()`, like `skills.Skill`; their files are read as resources."""
		return ()

	def complete(self, params: CompleteRequestParams) -> Sequence[str] | None:
		"""Values of an argument that begin with its text."""
		return None


def load_catalogs(offer: ServerOffer, own: Sequence[type[Catalog]]) -> list[Any]:
	"""Huf's catalogs and those from apps (hook `huf_mcp_catalogs`), limited to what this server offers."""
	hooked = [frappe.get_attr(path) for path in frappe.get_hooks("huf_mcp_catalogs") or ()]
	return [catalog(offer) for catalog in (*own, *hooked)]
