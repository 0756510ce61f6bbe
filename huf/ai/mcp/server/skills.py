"""Instructions of agents and installed packs as skills (extension io.modelcontextprotocol/skills, SEP-2640).

Managers get all instructions. Others get those that an MCP Server record offers as skills, for agents that
they may use.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

import frappe
from mcp.server.context import HandlerResult, ServerRequestContext
from mcp_types import ReadResourceRequestParams, ReadResourceResult, Resource, TextResourceContents

from huf.ai.mcp.server.catalog import Catalog
from huf.ai.mcp.server.servers import list_agents
from huf.ai.runs.admission import list_usable_agents
from huf.ai.tools.fields import may_read_instructions

EXTENSION = "io.modelcontextprotocol/skills"
SCHEME, MAIN_FILE, MARKDOWN = "skill://", "SKILL.md", "text/markdown"
MAX_NAME_CHARS, MAX_DESCRIPTION_CHARS = 64, 1024


@dataclass(frozen=True)
class Skill:
	"""A folder with SKILL.md. `folder`: its path below skill://, ending in the name.

	`files`: {path within it: text}, without the front matter of SKILL.md.
	"""

	folder: str
	description: str
	files: Mapping[str, str]

	@property
	def name(self) -> str:
		return self.folder.rpartition("/")[2]

	@property
	def uri(self) -> str:
		return f"{SCHEME}{self.folder}/{MAIN_FILE}"

	@property
	def front_matter(self) -> dict[str, str]:
		return {"name": self.name, "description": self.description}

	def render_files(self) -> dict[str, str]:
		"""{URI: text}. Values are written as JSON strings, which are valid YAML."""
		lines = [
			f"{key}: {json.dumps(value, ensure_ascii=False)}" for key, value in self.front_matter.items()
		]
		head = "\n".join(("---", *lines, "---", "", ""))
		return {
			f"{SCHEME}{self.folder}/{path}": head + text if path == MAIN_FILE else text
			for path, text in self.files.items()
		}

	def describe(self) -> dict[str, Any]:
		"""An entry of skills/list."""
		contents = {uri: text.encode() for uri, text in self.render_files().items()}
		files = [
			{"uri": uri, "digest": f"sha256:{sha256(content).hexdigest()}", "size": len(content)}
			for uri, content in contents.items()
		]
		return {"uri": self.uri, "frontmatter": self.front_matter, "resources": files}


class Skills(Catalog):
	"""skill://agents/NAME and skill://packs/NAME."""

	def list_skills(self) -> Sequence[Skill]:
		may_read = may_read_instructions()
		agents = [each for each in list_agents(self.offer) if may_read or each.name in self.offer.skills]
		written = [each for each in agents if each.instructions]
		return [*map(make_agent_skill, written), *self.list_pack_skills(may_read)]

	def list_pack_skills(self, may_read: bool) -> Iterable[Skill]:
		for pack in self.list_packs(may_read):
			wanted = {"name": ["in", list_agents_of_pack(pack.name)]}
			agents = list_usable_agents(frappe.session.user, wanted)
			if written := [each for each in agents if each.instructions]:
				yield make_pack_skill(pack, written)

	def list_packs(self, may_read: bool) -> list:
		fields = ["name", "title", "description"]
		if self.offer.packs is not None:
			filters = {"name": ["in", self.offer.packs]}
			return frappe.get_all("Agent Pack", filters, fields, order_by="name asc")
		if not may_read or not frappe.has_permission("Agent Pack", "read"):
			return []
		return frappe.get_list("Agent Pack", fields=fields, order_by="name asc", limit_page_length=0)

	def list_resources(self) -> Sequence[Resource]:
		return [
			Resource(uri=each.uri, name=each.name, description=each.description, mime_type=MARKDOWN)
			for each in self.list_skills()
		]

	async def read_resource(
		self, ctx: ServerRequestContext, params: ReadResourceRequestParams
	) -> HandlerResult:
		if not params.uri.startswith(SCHEME):
			return None
		files = (each.render_files() for each in self.list_skills())
		text = next((found[params.uri] for found in files if params.uri in found), None)
		if text is None:
			return None
		contents = TextResourceContents(uri=params.uri, mime_type=MARKDOWN, text=text)
		return ReadResourceResult(contents=[contents])


def make_agent_skill(agent) -> Skill:
	description = to_line(agent.description or "") or f"Instructions of {to_line(agent.name)}"
	return Skill(f"agents/{to_skill_name(agent.name)}", description, {MAIN_FILE: agent.instructions})


def make_pack_skill(pack, agents: Sequence) -> Skill:
	"""A skill with the pack's description and a file of instructions for each agent."""
	files = {f"references/{to_skill_name(each.name)}.md": each.instructions for each in agents}
	links = [
		f"- [{agent.name}]({path}): {to_line(agent.description or '')}"
		for agent, path in zip(agents, files, strict=True)
	]
	text = "\n".join(
		(f"# {pack.title}", "", pack.description or "", "", "Instructions by role:", "", *links, "")
	)
	description = to_line(pack.description or "") or f"Instructions of {to_line(pack.title)}"
	return Skill(f"packs/{to_skill_name(f'{pack.name} pack')}", description, {MAIN_FILE: text, **files})


def list_agents_of_pack(pack: str) -> list[str]:
	rows = frappe.get_cached_doc("Agent Pack", pack).records
	return [row.record_name for row in rows if row.record_doctype == "Agent"]


def to_skill_name(text: str) -> str:
	"""A name of lower-case letters, digits and single hyphens, or a part of the text's digest if letters
	would be lost.
	"""
	plain = re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")
	if plain.replace("-", " ") != text.lower().replace("_", " ") or len(plain) > MAX_NAME_CHARS:
		cut = plain[: MAX_NAME_CHARS - 9].rstrip("-")
		plain = f"{cut}-{sha256(text.encode()).hexdigest()[:8]}".lstrip("-")
	return plain


def to_line(text: str) -> str:
	"""One line without characters that confuse parsers of front matter."""
	line = "".join(each for each in " ".join(text.split()) if each.isprintable())
	return re.sub("-{3,}", "—", line)[:MAX_DESCRIPTION_CHARS]
