"""Reads and writes routing rules and agent profiles as YAML; errors name the line, unknown keys are refused.

routing:
  rules: [{name, match, route, profile}]
agent:
  profiles: {name: {model, max_tokens, temperature, max_iterations, system_prompt_file, tools}}
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import yaml

from huf.ai.core.errors import UsageError
from huf.ai.core.yaml_lines import LineMapping, check_mapping, line_error, load_yaml
from huf.ai.mail.rules import MailRoute, Rule, check_rule

RULE_KEYS = {"name": str, "match": dict, "route": str, "profile": str, "preprocessor": str}
SETTING_KEYS = {"model": str, "max_tokens": int, "temperature": (int, float), "max_iterations": int}
PROFILE_KEYS = {**SETTING_KEYS, "system_prompt_file": str, "tools": list}
DEFAULT_SETTINGS = {
	"model": "gemini/gemini-2.5-pro",
	"max_tokens": 4096,
	"temperature": 0.3,
	"max_iterations": 10,
}
"""Values of an agent that a file creates. An existing agent keeps what the file leaves out."""


@dataclass(frozen=True)
class Profile:
	"""An agent as a file describes it, with the settings that it names; `line` is its place there."""

	name: str
	system_prompt_file: str
	tools: tuple[str, ...]
	settings: Mapping[str, Any]
	line: int = field(default=0, compare=False)


@dataclass(frozen=True)
class MailConfig:
	"""The contents of a file; None for a part that it does not have."""

	rules: tuple[Rule, ...] | None = None
	profiles: tuple[Profile, ...] | None = None


def read_config(text: str) -> MailConfig:
	"""Parse a file. Raises UsageError with the line of the error."""
	top = check_mapping(load_yaml(text), {"routing": dict, "agent": dict}, "the file", 1)
	routing = check_mapping(
		top.get("routing", LineMapping(1)), {"rules": list}, "routing", top.lines.get("routing", 1)
	)
	agent = check_mapping(
		top.get("agent", LineMapping(1)), {"profiles": dict}, "agent", top.lines.get("agent", 1)
	)
	rules = profiles = None
	if "rules" in routing:
		rules = tuple(read_rule(each, routing.lines["rules"]) for each in routing["rules"])
	if "profiles" in agent:
		each = agent["profiles"]
		profiles = tuple(read_profile(name, values, each.lines[name]) for name, values in each.items())
	return check_names(MailConfig(rules, profiles), routing)


def read_rule(value: Any, line: int) -> Rule:
	values = check_mapping(value, RULE_KEYS, "a rule", getattr(value, "line", line), ("name", "match"))
	route = values.get("route", MailRoute.PIPELINE.value)
	if route not in [each.value for each in MailRoute]:
		raise line_error(values.lines["route"], f"{route!r} is not a route. Use pipeline or agent.")
	rule = Rule(
		values["name"],
		dict(values["match"]),
		MailRoute(route),
		values.get("profile"),
		values.get("preprocessor"),
	)
	try:
		check_rule(rule)
	except UsageError as error:
		raise line_error(find_error_line(values), str(error)) from None
	return rule


def find_error_line(values: LineMapping) -> int:
	"""The line of the wrong condition, else that of the rule."""
	for key, wanted in values["match"].items():
		try:
			check_rule(Rule(values["name"], {key: wanted}))
		except UsageError:
			return values["match"].lines[key]
	return values.line


def read_profile(name: str, value: Any, line: int) -> Profile:
	values = check_mapping(value, PROFILE_KEYS, f"the profile {name}", line)
	for key in ("system_prompt_file", "tools"):
		if key not in values:
			raise line_error(line, f"the profile {name} needs {key}.")
	for key in ("max_tokens", "max_iterations"):
		if values.get(key, 1) < 1:
			raise line_error(values.lines[key], f"{key} must be 1 or more.")
	if not 0 <= values.get("temperature", 0) <= 2:
		raise line_error(values.lines["temperature"], "temperature must be between 0 and 2.")
	if not all(isinstance(tool, str) for tool in values["tools"]):
		raise line_error(values.lines["tools"], "tools must be a list of names.")
	settings = {key: values[key] for key in SETTING_KEYS if key in values}
	return Profile(name, values["system_prompt_file"], tuple(values["tools"]), settings, line)


def check_names(config: MailConfig, routing: LineMapping) -> MailConfig:
	names = [rule.name for rule in config.rules or ()]
	for place, name in enumerate(names):
		if name in names[:place]:
			raise line_error(routing["rules"][place].line, f"there are two rules of the name {name}.")
	return config


def write_config(rules: Iterable[Rule], profiles: Iterable[Profile]) -> str:
	"""The YAML of rules and profiles, which `read_config` parses to the same values."""
	document = {
		"routing": {"rules": [rule_to_yaml(rule) for rule in rules]},
		"agent": {"profiles": {each.name: profile_to_yaml(each) for each in profiles}},
	}
	return yaml.safe_dump(document, sort_keys=False, allow_unicode=True, width=110)


def rule_to_yaml(rule: Rule) -> dict:
	more = {"profile": rule.profile, "preprocessor": rule.preprocessor}
	values = {"name": rule.name, "match": dict(rule.match), "route": rule.route.value}
	return values | {key: value for key, value in more.items() if value}


def profile_to_yaml(profile: Profile) -> dict:
	prompt = {"system_prompt_file": profile.system_prompt_file}
	return {**profile.settings, **prompt, "tools": list(profile.tools)}
