"""Imports routing rules and agents from a YAML file (`config.py`) into the site, and exports them.

The order of the rules is that of the file, before a rule of the site that takes every mail. Records that the
file does not name stay unchanged.
"""

from collections.abc import Callable
from dataclasses import dataclass

import frappe

from huf.ai.core.documents import get_or_new
from huf.ai.core.errors import UsageError
from huf.ai.mail.config import DEFAULT_SETTINGS, SETTING_KEYS, Profile, read_config, write_config
from huf.ai.mail.dispatch import RULE, preprocessor_names, read_positions, read_rules, rule_to_fields
from huf.ai.mail.rules import Rule, find_unreachable, plan_positions
from huf.ai.providers.models import load_table
from huf.ai.tools import registry

PROVIDERS = {
	"gemini": "Google",
	"vertex_ai-language-models": "Google",
	"openai": "OpenAI",
	"anthropic": "Anthropic",
	"mistral": "Mistral",
	"ollama": "Ollama",
}
PROMPT_FILE = "config/prompts/{name}.txt"


@dataclass(frozen=True)
class ImportResult:
	"""Names of the records that were created or updated.

	`unreachable`: rules that never take a mail, each with the rule that takes it before.
	"""

	agents: tuple[str, ...]
	rules: tuple[str, ...]
	unreachable: dict[str, str]


def import_config(text: str, read_prompt: Callable[[str], str]) -> ImportResult:
	"""Create or update the agents and rules of a file. Does not commit. Raises UsageError; the caller then
	rolls back.

	`read_prompt` returns the text of a system prompt file.
	"""
	config = read_config(text)
	prompts = {each.name: load_prompt(each, read_prompt) for each in config.profiles or ()}
	for each in config.profiles or ():
		save_agent(each, prompts[each.name])
	names = [rule.name for rule in config.rules or ()]
	positions = plan_positions(names, read_positions())
	for rule in config.rules or ():
		save_rule(rule, positions[rule.name])
	return ImportResult(tuple(prompts), tuple(names), find_unreachable(read_rules()))


def load_prompt(profile: Profile, read_prompt: Callable[[str], str]) -> str:
	try:
		return read_prompt(profile.system_prompt_file)
	except (OSError, UnicodeDecodeError) as error:
		raise UsageError(
			f"Line {profile.line}: the system prompt {profile.system_prompt_file} of {profile.name} "
			f"cannot be read: {error}"
		) from None


def save_agent(profile: Profile, prompt: str) -> None:
	"""An agent that exists keeps what the file does not say: other settings, and its rows of tools, which may
	require approval.
	"""
	doc = get_or_new("Agent", profile.name)
	settings = {**({} if doc.name else DEFAULT_SETTINGS), **profile.settings}
	if "model" in settings:
		model = ensure_model(settings["model"])
		settings["provider"] = frappe.db.get_value("AI Model", model, "provider")
	rows = {row.tool: row for row in doc.get("agent_tool") or ()}
	for row in rows.values():
		row.idx = None  # the file has the order
	tools = [rows.get(name) or {"tool": ensure_tool(name, profile)} for name in profile.tools]
	doc.update({"agent_name": profile.name, "instructions": prompt, "agent_tool": tools, **settings})
	doc.save()


def ensure_model(name: str) -> str:
	"""The AI Model of that name; a missing one is created, with its provider, which still needs a key."""
	if not frappe.db.exists("AI Model", name):
		provider = guess_provider(name)
		if not frappe.db.exists("AI Provider", provider):
			frappe.get_doc({"doctype": "AI Provider", "provide_name": provider}).insert()
		frappe.get_doc({"doctype": "AI Model", "model_name": name, "provider": provider}).insert()
	return name


def guess_provider(model: str) -> str:
	"""The name of the AI Provider for a model: from the prefix of its name, else from LiteLLM's table."""
	prefix = model.partition("/")[0].lower()
	listed = load_table().get(model, {}).get("litellm_provider", "") if "/" not in model else ""
	return PROVIDERS.get(prefix) or PROVIDERS.get(listed) or prefix.title()


def ensure_tool(name: str, profile: Profile) -> str:
	"""The Agent Tool Function of that name; one that an app offers is created."""
	if frappe.db.exists("Agent Tool Function", name):
		return name
	offer = next((each for each in registry.list_code_tools() if each.name == name), None)
	if offer is None:
		raise UsageError(
			f"Line {profile.line}: there is no tool {name!r} for {profile.name}. "
			"Create an Agent Tool Function of this name first."
		)
	frappe.get_doc({"doctype": "Agent Tool Function", **offer.values}).insert()
	return name


def save_rule(rule: Rule, position: int) -> None:
	if rule.profile and not frappe.db.exists("Agent", rule.profile):
		raise UsageError(
			f"The rule {rule.name} names the profile {rule.profile}, and there is no agent of this name."
		)
	if rule.preprocessor and rule.preprocessor not in preprocessor_names():
		raise UsageError(
			f"The rule {rule.name} names the preprocessor {rule.preprocessor}, which nobody offers."
		)
	values = {"rule_name": rule.name, **rule_to_fields(rule), "position": position, "disabled": 0}
	get_or_new(RULE, rule.name).update(values).save()


def export_config() -> tuple[str, dict[str, str]]:
	"""The YAML of the enabled rules and of the agents they name, and {file: system prompt}."""
	rules = read_rules()
	names = dict.fromkeys(rule.profile for rule in rules if rule.profile)
	profiles = [profile_from_agent(frappe.get_cached_doc("Agent", name)) for name in names]
	prompts = {
		each.system_prompt_file: frappe.get_cached_doc("Agent", each.name).instructions or ""
		for each in profiles
	}
	return write_config(rules, profiles), prompts


def profile_from_agent(agent) -> Profile:
	# A number that is not set is stored as 0, which only a temperature can really be.
	is_set = {key: bool(agent.get(key)) for key in SETTING_KEYS} | {
		"temperature": agent.temperature is not None
	}
	return Profile(
		agent.name,
		PROMPT_FILE.format(name=frappe.scrub(agent.name)),
		tuple(row.tool for row in agent.agent_tool),
		{key: agent.get(key) for key in SETTING_KEYS if is_set[key]},
	)
