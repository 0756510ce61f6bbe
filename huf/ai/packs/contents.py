"""Collects all documents of a pack in installation order: manifest, JSON files, mail rules, tools, evals."""

from collections.abc import Iterable
from typing import Any

import frappe

from huf.ai.core.errors import UsageError
from huf.ai.evals.cases import dump_definition, parse_cases
from huf.ai.mail.config import DEFAULT_SETTINGS, Profile, read_config
from huf.ai.mail.dispatch import RULE, read_positions, rule_to_fields
from huf.ai.mail.import_export import guess_provider
from huf.ai.mail.rules import plan_positions
from huf.ai.packs.manifest import EVALS_FILE, UNTRUSTED, Pack, PackEntry, naming_file, read_pack_file
from huf.ai.packs.shipped import PackSource
from huf.ai.tools import registry

TOOL = "Agent Tool Function"
RECORDS = 2
"""Position of any other document in the order."""
INSTALL_ORDER = {
	"Role": 0,
	"DocType": 1,
	"AI Provider": 3,
	"AI Model": 4,
	TOOL: 5,
	"Agent": 6,
	RULE: 7,
	"Agent Trigger": 8,
	"Agent Eval Case": 9,
}
TITLE_FIELDS = (
	"name",
	"case_name",
	"role_name",
	"tool_name",
	"agent_name",
	"rule_name",
	"trigger_name",
	"title",
)


def list_entries(pack: Pack, source: PackSource, made: set[tuple[str, str]]) -> list[PackEntry]:
	"""All entries, in the order in which they are created. Raises UsageError for unknown tools or broken
	code.

	`made`: (DocType, name) of documents that the pack has created before. The Agent Pack record must exist
	already, so that the pack's tools are offered.
	"""
	found = [
		*pack.entries,
		*read_code_tools(pack, source),
		*read_mail_entries(pack),
		*read_eval_entries(pack),
	]
	agents = [entry for entry in found if entry.doctype == "Agent"]
	tools = [entry for entry in found if entry.doctype == TOOL]
	names = {entry.values.get("tool_name") for entry in tools}
	found += [*find_offered_tools(agents, names, made), *find_missing_models([*agents, *tools], made)]
	return in_install_order(found)


def in_install_order(entries: Iterable[PackEntry]) -> list[PackEntry]:
	return sorted(entries, key=lambda entry: INSTALL_ORDER.get(entry.doctype, RECORDS))


def preview_contents(pack: Pack) -> Iterable[tuple[str, str]]:
	"""(DocType, title) of a pack's documents, without loading its code."""
	for entry in in_install_order([*pack.entries, *read_mail_entries(pack), *read_eval_entries(pack)]):
		titles = [entry.values[key] for key in TITLE_FIELDS if entry.values.get(key)]
		yield entry.doctype, str((titles or list(entry.values.values()))[0])


def read_code_tools(pack: Pack, source: PackSource) -> Iterable[PackEntry]:
	"""The tools of tools.py that the manifest does not list; those that it lists get their missing values."""
	if not pack.has_tools:
		return
	offer = registry.load_tools(source.app or "", source.tools_module)
	if offer.faults:
		raise UsageError(" ".join(offer.faults))
	listed = {entry.values.get("tool_name"): entry.values for entry in pack.entries if entry.doctype == TOOL}
	for each in offer.tools.values():
		entry = PackEntry(TOOL, each.values, "tools.py")
		if each.name not in listed:
			yield entry
			continue
		for key, value in entry.values.items():
			listed[each.name].setdefault(key, value)


def find_offered_tools(
	agents: list[PackEntry], known: set[Any], made: set[tuple[str, str]]
) -> list[PackEntry]:
	"""Tools of installed apps that the agents use and that have no record yet.

	Raises UsageError for unknown tools.
	"""
	offers, more = {each.name: each for each in registry.list_code_tools()}, {}
	for entry in agents:
		for name in [row["tool"] for row in entry.values.get("agent_tool") or () if row["tool"] not in known]:
			exists = frappe.db.exists(TOOL, name)
			if not exists and name not in offers:
				raise entry.fault(describe_missing_tool(entry, name))
			if name in offers and (not exists or (TOOL, name) in made):
				more[name] = PackEntry(TOOL, offers[name].values, entry.place)
	return list(more.values())


def describe_missing_tool(agent: PackEntry, name: str) -> str:
	faults = "".join(f" {fault}." for fault in registry.list_tool_faults())
	return (
		f"there is no tool {name!r} for the agent {agent.values.get('agent_name')}. "
		f"List it under tools, or install the app that has it in its code.{faults}"
	)


def find_missing_models(users: list[PackEntry], made: set[tuple[str, str]]) -> list[PackEntry]:
	"""Models that agents and tools name and the site lacks, with their providers (still without a key)."""
	more = {}
	for entry in users:
		choices = [row["model"] for row in entry.values.get("chat_models") or ()]
		for model in filter(None, (entry.values.get("model"), *choices)):
			if not frappe.db.exists("AI Model", model) or ("AI Model", model) in made:
				provider = guess_provider(model)
				more[provider] = PackEntry("AI Provider", {"provide_name": provider}, entry.place)
				more[model] = PackEntry("AI Model", {"model_name": model, "provider": provider}, entry.place)
	return list(more.values())


def read_mail_entries(pack: Pack) -> Iterable[PackEntry]:
	"""The agents and routing rules of the pack's mail file."""
	if not pack.mail:
		return
	with naming_file(pack.mail):
		config = read_config(read_pack_file(pack.folder, pack.mail))
		for profile in config.profiles or ():
			yield build_agent_entry(profile, pack)
	positions = plan_positions([rule.name for rule in config.rules or ()], read_positions())
	for rule in config.rules or ():
		yield PackEntry(
			RULE,
			{"rule_name": rule.name, **rule_to_fields(rule)},
			pack.mail,
			{"position": positions[rule.name]},
		)


def read_eval_entries(pack: Pack) -> Iterable[PackEntry]:
	if not (pack.folder / EVALS_FILE).is_file():
		return
	with naming_file(EVALS_FILE):
		for case in parse_cases(read_pack_file(pack.folder, EVALS_FILE)):
			about = {"case_name": case["case"], "agent": case["agent"], "prompt": case.get("prompt")}
			values = {**about, "definition": dump_definition(case)}
			place = f"{EVALS_FILE}: Line {case.line}"
			yield PackEntry("Agent Eval Case", values, place, untrusted=case.get(UNTRUSTED))


def build_agent_entry(profile: Profile, pack: Pack) -> PackEntry:
	values = {
		"agent_name": profile.name,
		"instructions": read_pack_file(pack.folder, profile.system_prompt_file or "").strip(),
		"agent_tool": [{"tool": name} for name in profile.tools],
		**DEFAULT_SETTINGS,
		**profile.settings,
	}
	return PackEntry("Agent", values, f"{pack.mail}: Line {profile.line}")
