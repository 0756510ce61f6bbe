"""All that a pack brings, in the order in which it is made: what its files say, its mail rules, its code's tools, its evals."""

from collections.abc import Iterable

import frappe

from huf.ai.core.errors import UsageError
from huf.ai.evals.cases import dump_definition, read_cases
from huf.ai.mail.config import Profile, read_config
from huf.ai.mail.dispatch import RULE, fields_of
from huf.ai.mail.import_export import COLUMNS, STEP, provider_of
from huf.ai.mail.rules import Rule
from huf.ai.packs.manifest import EVALS, Entry, Pack, in_file, read_text
from huf.ai.packs.shipped import Source
from huf.ai.tools import registry

TOOL = "Agent Tool Function"
BEFORE, RECORDS, BEHIND = (
	("Role", "DocType"),
	2,
	(TOOL, "AI Provider", "AI Model", "Agent", RULE, "Agent Trigger", "Agent Eval Case"),
)
PLACES = {
	**{name: place for place, name in enumerate(BEFORE)},
	**{name: RECORDS + 1 + place for place, name in enumerate(BEHIND)},
}


def all_entries(pack: Pack, source: Source, made: set[tuple[str, str]]) -> list[Entry]:
	"""`made`: documents that the pack has made here before. Raises UsageError for what does not fit together.

	The pack's record must be there, so that its tools are offered.
	"""
	found = [*pack.entries, *code_tools(pack, source), *mail_entries(pack), *eval_entries(pack)]
	agents = [entry for entry in found if entry.doctype == "Agent"]
	tools = {entry.values.get("tool_name") for entry in found if entry.doctype == TOOL}
	found += [*offered_tools(agents, tools, made), *missing_models(agents, made)]
	return sorted(found, key=lambda entry: PLACES.get(entry.doctype, RECORDS))


def message_files(pack: Pack) -> Iterable[tuple[str, str]]:
	"""(DocType, name) of what a pack would bring, as far as its files say so; nothing of its code is loaded."""
	for entry in sorted(
		[*pack.entries, *mail_entries(pack), *eval_entries(pack)],
		key=lambda each: PLACES.get(each.doctype, RECORDS),
	):
		titles = (
			"name",
			"case_name",
			"role_name",
			"tool_name",
			"agent_name",
			"rule_name",
			"trigger_name",
			"title",
		)
		values = [entry.values[key] for key in titles if entry.values.get(key)]
		yield entry.doctype, str((values or [*entry.values.values()])[0])


def code_tools(pack: Pack, source: Source) -> Iterable[Entry]:
	"""The tools of tools.py that pack.yaml does not list; one that it lists is given what it does not say."""
	if not pack.has_tools:
		return
	offer = registry.load(source.app, source.tools_module)
	if offer.faults:
		raise UsageError(" ".join(offer.faults))
	listed = {entry.values.get("tool_name"): entry.values for entry in pack.entries if entry.doctype == TOOL}
	for each in offer.tools.values():
		entry = tool_entry(each, "tools.py")
		if each.name not in listed:
			yield entry
			continue
		for key, value in entry.values.items():
			listed[each.name].setdefault(key, value)


def tool_entry(offer: registry.CodeTool, place: str) -> Entry:
	values = {"types": "App Provided", "provider_app": offer.app, "description": offer.description}
	return Entry(TOOL, {"tool_name": offer.name, **values}, place)


def offered_tools(agents: list[Entry], known: set[str], made: set[tuple[str, str]]) -> list[Entry]:
	"""Tools of the site's apps that agents name, and that nobody else has a record of. Raises UsageError for unknown ones."""
	offers, more = {each.name: each for each in registry.offers()}, {}
	for entry in agents:
		for name in [row["tool"] for row in entry.values["agent_tool"] if row["tool"] not in known]:
			exists = frappe.db.exists(TOOL, name)
			if not exists and name not in offers:
				raise UsageError(f"{entry.place}: there is no tool {name!r}.")
			if name in offers and (not exists or (TOOL, name) in made):
				more[name] = tool_entry(offers[name], entry.place)
	return list(more.values())


def missing_models(agents: list[Entry], made: set[tuple[str, str]]) -> list[Entry]:
	"""The models that agents name, and their providers, which still lack a key."""
	more = {}
	for entry in agents:
		model = entry.values.get("model")
		if model and (not frappe.db.exists("AI Model", model) or ("AI Model", model) in made):
			provider = provider_of(model)
			more[provider] = Entry("AI Provider", {"provide_name": provider}, entry.place)
			more[model] = Entry("AI Model", {"model_name": model, "provider": provider}, entry.place)
	return list(more.values())


def mail_entries(pack: Pack) -> Iterable[Entry]:
	"""The agents and rules of the pack's file of mail rules."""
	if not pack.mail:
		return
	with in_file(pack.mail):
		config = read_config(read_text(pack.folder, pack.mail))
		for profile in config.profiles or ():
			yield agent_entry(profile, pack)
	for place, rule in enumerate(config.rules or (), 1):
		yield Entry(
			RULE, {"rule_name": rule.name, **fields_of(rule)}, pack.mail, {"position": position(rule, place)}
		)


def eval_entries(pack: Pack) -> Iterable[Entry]:
	if not (pack.folder / EVALS).is_file():
		return
	with in_file(EVALS):
		for case in read_cases(read_text(pack.folder, EVALS)):
			about = {"case_name": case["case"], "agent": case["agent"], "prompt": case.get("prompt")}
			values = {**about, "definition": dump_definition(case)}
			yield Entry("Agent Eval Case", values, f"{EVALS}: Line {case.line}")


def agent_entry(profile: Profile, pack: Pack) -> Entry:
	values = {
		"agent_name": profile.name,
		"instructions": read_text(pack.folder, profile.system_prompt_file).strip(),
		"model": profile.model,
		"agent_tool": [{"tool": name} for name in profile.tools],
		**{column: getattr(profile, column) for column in COLUMNS},
	}
	return Entry("Agent", values, f"{pack.mail}: Line {profile.line}")


def position(rule: Rule, place: int) -> int:
	"""Behind the site's rules, but before one that takes every mail: behind that it would never be asked."""
	rules = frappe.get_all(RULE, {}, ["position", "match_all"], order_by="position asc")
	for_all = [row.position for row in rules if row.match_all]
	if for_all and not rule.match.get("all"):
		return for_all[0] - 1
	return max((row.position for row in rules), default=0) + place * STEP
