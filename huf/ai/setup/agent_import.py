"""Makes agents from an export of n8n or OpenAI's Agent Builder, with a report of what did not map.

n8n exports the JSON of a workflow with "AI Agent" nodes, Agent Builder Python code. Nothing of them is run.
"""

import ast
import json
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import frappe
from frappe import _

from huf.ai.core.errors import UsageError
from huf.ai.core.text_decoding import NO_TAGS, strip_control_chars
from huf.ai.setup.tool_templates import find_free_name

AGENT, MODEL = "Agent", "AI Model"
SAVEPOINT = "huf_agent_import"
MAX_NAME_CHARS = 100
MAX_CHARS = 2_000_000
MAX_CODE_CHARS = 200_000
"""Python's parser takes the square of the length for some texts, and holds up all threads meanwhile."""
MAX_AGENTS = 50
N8N_AGENT = "@n8n/n8n-nodes-langchain.agent"
N8N_NOTE = "n8n-nodes-base.stickyNote"
N8N_EXPRESSION = re.compile(r"\{\{[^{}]*\}\}")
N8N_NUMBERS = {"temperature": "temperature", "topP": "top_p", "maxTokens": "max_tokens"}
SDK_NUMBERS = ("temperature", "top_p", "max_tokens")


@dataclass
class ExportedAgent:
	"""`settings`: numbers by field of Agent. `unmapped`: lines about parts that the agent will not have."""

	name: str
	instructions: str = ""
	model: str = ""
	settings: dict[str, float | int] = field(default_factory=dict)
	unmapped: list[str] = field(default_factory=list)


def import_agents(text: str, is_dry_run: bool = False) -> dict[str, Any]:
	"""Make an Agent of each agent of an export, all or none, with the user's permissions. Does not commit.

	Returns {agents: [{name, instructions, model, settings, unmapped}], unmapped}. `unmapped`: what did not
	map, as lines. `model`: the AI Model, None for the site's default. A dry run makes the agents and takes
	them back. Raises UsageError, PermissionError, ValidationError.
	"""
	frappe.has_permission(AGENT, "create", throw=True)
	exported, unmapped = parse_export(text)
	frappe.db.savepoint(SAVEPOINT)
	try:
		agents = [import_agent(each) for each in exported]
	except Exception:  # re-raised: if one agent is refused, none is imported
		frappe.db.rollback(save_point=SAVEPOINT)
		raise
	if is_dry_run:
		frappe.db.rollback(save_point=SAVEPOINT)
	return {"agents": agents, "unmapped": unmapped}


def import_agent(exported: ExportedAgent) -> dict[str, Any]:
	"""Create an agent: {name, instructions, model, settings, unmapped}. `unmapped`: sentences about what was
	left out.
	"""
	wanted, instructions, listed = map(
		strip_control_chars, (exported.name, exported.instructions, exported.model)
	)
	wanted = " ".join(wanted.translate(NO_TAGS).split())[:MAX_NAME_CHARS]
	name = find_free_name(AGENT, wanted or _("Imported agent"))
	model, unmapped = find_model(listed), list(exported.unmapped)
	if exported.model and not model:
		unmapped.append(
			_("The model {0} is not connected here; the agent uses the default.").format(exported.model)
		)
	mapped = {"instructions": instructions, "model": model}
	frappe.get_doc({"doctype": AGENT, "agent_name": name, **mapped, **exported.settings}).insert()
	return {"name": name, **mapped, "settings": exported.settings, "unmapped": unmapped}


def find_model(wanted: str) -> str | None:
	"""The AI Model of this name, or with this ID at its provider."""
	if not wanted:
		return None
	return frappe.db.get_value(MODEL, {"model_name": wanted}) or frappe.db.get_value(
		MODEL, {"model_id": wanted}, order_by="name asc"
	)


def parse_export(text: str) -> tuple[list[ExportedAgent], list[str]]:
	"""(agents, what belongs to none of them and is left out). Raises UsageError."""
	if len(text) > MAX_CHARS:
		raise UsageError(_("The file has more than {0} characters.").format(f"{MAX_CHARS:,}"))
	try:
		agents, unmapped = parse_n8n(text) if text.lstrip().startswith("{") else parse_agent_builder(text)
	except (AttributeError, TypeError, KeyError, RecursionError):
		raise UsageError(_("The file does not have the structure of such an export.")) from None
	check_agent_count(len(agents))
	return agents, unmapped


def check_agent_count(count: int) -> None:
	if not 0 < count <= MAX_AGENTS:
		raise UsageError(
			_("The file has {0} agents; between 1 and {1} can be imported.").format(count, MAX_AGENTS)
		)


def parse_n8n(text: str) -> tuple[list[ExportedAgent], list[str]]:
	try:
		workflow = json.loads(text)
	except ValueError:
		raise UsageError(_("This is not valid JSON.")) from None
	if not isinstance(workflow.get("nodes"), list) or not isinstance(workflow.get("connections"), dict):
		raise UsageError(_("This is not a workflow of n8n: it needs `nodes` and `connections`."))
	nodes = {node["name"]: node for node in workflow["nodes"] if node.get("type") != N8N_NOTE}
	# The time to find their parts grows with their number.
	check_agent_count(sum(node["type"] == N8N_AGENT for node in nodes.values()))
	agents, used = [], set()
	for node in nodes.values():
		if node["type"] == N8N_AGENT:
			parts = list(find_parts(nodes, workflow["connections"], node["name"]))
			used |= {node["name"], *(part["name"] for _kind, part in parts)}
			agents.append(read_n8n_agent(node, parts))
	return agents, [describe_node(node) for name, node in nodes.items() if name not in used]


def find_parts(nodes: Mapping, connections: Mapping, agent: str) -> Iterator[tuple[str, dict]]:
	"""(kind of connection, such as ai_tool, and node) for each node that is plugged into an agent."""
	for name, outputs in connections.items():
		for kind, slots in outputs.items():
			targets = [each["node"] for slot in slots or () for each in slot or ()]
			if kind.startswith("ai_") and agent in targets and name in nodes:
				yield kind, nodes[name]


def read_n8n_agent(node: Mapping, parts: list[tuple[str, dict]]) -> ExportedAgent:
	parameters = node.get("parameters") or {}
	options = parameters.get("options") or {}
	instructions = str(options.get("systemMessage") or parameters.get("systemMessage") or "")
	prompt = str(parameters.get("text") or "") if parameters.get("promptType") == "define" else ""
	# Without a system message, the task often stands in the prompt.
	is_task = not instructions and bool(N8N_EXPRESSION.sub("", prompt).strip("= \n"))
	agent = ExportedAgent(str(node["name"]), (prompt if is_task else instructions).removeprefix("="))
	check_expressions(agent)
	if node.get("disabled"):
		agent.settings["disabled"] = 1
	if isinstance(options.get("maxIterations"), int):
		agent.settings["max_iterations"] = options["maxIterations"]
	list_others(agent, options, ("systemMessage", "maxIterations"))
	if prompt and not is_task:
		line = " ".join(prompt.split())[:200]
		agent.unmapped.append(_("The prompt is the user's message here: {0}").format(line))
	for kind, part in parts:
		if kind == "ai_languageModel" and not agent.model:
			read_n8n_model(agent, part.get("parameters") or {})
		else:
			agent.unmapped.append(describe_node(part))
	return agent


def check_expressions(agent: ExportedAgent) -> None:
	if "{{" in agent.instructions:
		agent.unmapped.append(
			_("Expressions in the instructions ({{ ... }}) are kept as text and not evaluated.")
		)


def read_n8n_model(agent: ExportedAgent, parameters: Mapping) -> None:
	model = parameters.get("model") or parameters.get("modelName") or ""
	agent.model = str(model.get("value") or "") if isinstance(model, Mapping) else str(model)
	options = parameters.get("options") or {}
	for key, name in N8N_NUMBERS.items():
		if is_literal_number(options.get(key)):
			agent.settings[name] = options[key]
	list_others(agent, options, N8N_NUMBERS)


def list_others(agent: ExportedAgent, options: Mapping, mapped: Collection[str]) -> None:
	agent.unmapped += [f"options.{key}" for key in options if key not in mapped]


def describe_node(node: Mapping) -> str:
	return f"{node['name']} ({str(node['type']).rpartition('.')[2]})"


def parse_agent_builder(text: str) -> tuple[list[ExportedAgent], list[str]]:
	if len(text) > MAX_CODE_CHARS:
		raise UsageError(_("The file has more than {0} characters.").format(f"{MAX_CODE_CHARS:,}"))
	try:
		tree = ast.parse(text)
	except (SyntaxError, ValueError, MemoryError):
		raise UsageError(
			_("This is neither JSON nor Python. Export the Python code of the workflow in Agent Builder.")
		) from None
	texts = {
		each.targets[0].id: each.value.value
		for each in ast.walk(tree)
		if isinstance(each, ast.Assign)
		and isinstance(each.targets[0], ast.Name)
		and isinstance(each.value, ast.Constant)
		and isinstance(each.value.value, str)
	}
	texts |= {each.name: read_returned_text(each) for each in tree.body if isinstance(each, ast.FunctionDef)}
	calls: list[Any] = [each for each in ast.walk(tree) if is_call(each, "Agent")]
	check_agent_count(len(calls))
	agents = [
		read_sdk_agent({word.arg: word.value for word in each.keywords if word.arg}, texts) for each in calls
	]
	flow = any(
		isinstance(each, ast.AsyncFunctionDef) and each.name == "run_workflow" for each in ast.walk(tree)
	)
	return agents, [_("run_workflow: the order of the agents, conditions and approvals")] if flow else []


def read_returned_text(function: ast.FunctionDef) -> str:
	"""The text that a function returns, with {{ expression }} for inserted values; "" if it is no literal."""
	last: Any = function.body[-1]
	value = last.value if isinstance(last, ast.Return) else None
	pieces = value.values if isinstance(value, ast.JoinedStr) else [value]
	found = []
	for piece in pieces:
		if isinstance(piece, ast.FormattedValue):
			found.append(f"{{{{ {ast.unparse(piece.value)} }}}}")
		elif isinstance(piece, ast.Constant) and isinstance(piece.value, str):
			found.append(piece.value)
		else:
			return ""
	return "".join(found)


def is_call(node: Any, name: str) -> bool:
	return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == name


def read_sdk_agent(words: Mapping[str, ast.expr], texts: Mapping[str, str]) -> ExportedAgent:
	def read_text(key: str) -> str:
		value = words.get(key)
		if isinstance(value, ast.Name):
			return texts.get(value.id, "")
		return value.value if isinstance(value, ast.Constant) and isinstance(value.value, str) else ""

	agent = ExportedAgent(read_text("name"), read_text("instructions"), read_text("model"))
	if "instructions" in words and not agent.instructions:
		agent.unmapped.append(
			_("The instructions are made by code: {0}").format(ast.unparse(words["instructions"])[:200])
		)
	check_expressions(agent)
	settings: Any = words.get("model_settings")
	for word in settings.keywords if is_call(settings, "ModelSettings") else ():
		value: Any = getattr(word.value, "value", None)
		if word.arg in SDK_NUMBERS and is_literal_number(value):
			agent.settings[word.arg] = value
		else:
			agent.unmapped.append(f"model_settings: {ast.unparse(word)[:200]}")
	for key in sorted(set(words) - {"name", "instructions", "model", "model_settings"}):
		agent.unmapped.append(f"{key}: {ast.unparse(words[key])[:200]}")
	return agent


def is_literal_number(value: Any) -> bool:
	return isinstance(value, int | float) and not isinstance(value, bool)
