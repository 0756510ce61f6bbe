"""Proposes an agent from one sentence: by the site's default model, else from the words of the sentence.

A proposal is data for a person to review; `huf.ai.setup.agents` creates what they accept. Whether a
model or a browser wrote it, `read_proposal` takes only known fields, and only tools that the user may use.
"""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

import frappe
from frappe import _

from huf.ai.core.arguments import parse_arguments, strip_fence
from huf.ai.core.errors import BudgetReserved, ModelError, RunStopped, ToolError, UsageError
from huf.ai.core.settings import get_settings
from huf.ai.providers import litellm
from huf.ai.providers.models import get_model_row
from huf.ai.setup.proposal_doctypes import RIGHTS, Candidate, find_candidates
from huf.ai.setup.proposal_templates import write_template
from huf.ai.storage.standalone_calls import complete_within_budget
from huf.ai.tools.schemas import closed_object

MAX_SENTENCE_CHARS = 1_000
MAX_TOOL_DOCTYPES = 8
MAX_CASES = 3
MAX_ANSWER_TOKENS = 3_000
MAX_STEPS, MAX_DAILY_COST = 50, 1_000.0
TEXT_CHARS = {"name": 100, "description": 300, "instructions": 6_000}
PROMPT_CHARS = 1_000
EVENTS = ("after_insert", "on_update", "on_submit")
CRON_FIELD = r"[\d*/,-]+"
CRON = re.compile(rf"{CRON_FIELD}( {CRON_FIELD}){{4}}")
INSTRUCTIONS = """You set up an AI agent for a business application. The user message is a JSON object: the
request of a person, and the record types (doctypes) of the site. Answer with one JSON object that fits the
schema, in the person's language.
- name: two to four words. description: one sentence.
- instructions: to the agent, 5 to 12 short lines: its purpose, what to look up, how to answer, what it must
  not do.
- tools: only doctypes of the list, and only the kinds that are needed: list finds and counts, read opens one
  record, create and update change records. Take list and read for questions; create or update only if the
  person asks for changes.
- trigger: Schedule with a cron expression in five fields, Doc Event for each new or changed record of a
  doctype, or None if the person only asks questions. prompt: the message to the agent each time.
- max_iterations: steps per run, 5 to 20. daily_cost_limit: USD per day, 0.5 to 5.
- cases: three tests of the agent. prompt: what a user says. doctype and kind: the tool it must call, or
  empty. question: about the answer, to which yes means passed."""


def propose_agent(sentence: str) -> dict:
	"""A proposal for `sentence`: see `read_proposal`. Also {source, model, problem}.

	`source` is "model" or "words"; `problem` says why the model made none.

	Commits before the model is called. Raises UsageError, PermissionError.
	"""
	sentence = sentence.strip()
	if not sentence:
		raise UsageError(_("Write in one sentence what the agent should do."))
	if len(sentence) > MAX_SENTENCE_CHARS:
		raise UsageError(_("Write at most {0} characters.").format(MAX_SENTENCE_CHARS))
	for doctype in ("Agent", "Agent Tool Function"):
		frappe.has_permission(doctype, "create", throw=True)
	candidates = find_candidates(sentence)
	model, problem = get_settings().default_model or None, None
	if model:
		try:
			raw = propose_by_model(model, sentence, candidates)
			return {**read_proposal(raw), "source": "model", "model": model, "problem": None}
		except (ModelError, RunStopped, BudgetReserved, UsageError) as error:
			problem = str(error)
	proposal = read_proposal(write_template(sentence, candidates))
	return {**proposal, "source": "words", "model": model, "problem": problem}


def propose_by_model(model: str, sentence: str, candidates: Sequence[Candidate]) -> dict:
	"""The model's proposal, unchecked. Raises ModelError, UsageError for an answer that is not JSON."""
	row = get_model_row(model)
	call = litellm.build_call_arguments(row.provider, model, {"max_tokens": MAX_ANSWER_TOKENS}, False)
	doctypes = [{"doctype": each.name, "label": each.label, "kinds": list(each.kinds)} for each in candidates]
	prompt = json.dumps({"request": sentence, "doctypes": doctypes}, ensure_ascii=False)
	messages = [{"role": "system", "content": INSTRUCTIONS}, {"role": "user", "content": prompt}]
	reply = complete_within_budget(
		call.worst_case(messages, []),
		lambda: call.complete_json(messages, make_schema(candidates), MAX_ANSWER_TOKENS),
	)
	try:
		return parse_arguments(strip_fence(reply.text))
	except ToolError:
		raise UsageError(_("{0} did not answer with JSON. A larger model may.").format(model)) from None


def make_schema(candidates: Sequence[Candidate]) -> dict:
	"""The JSON schema of a proposal as a model writes it."""
	text, doctype = {"type": "string"}, {"type": "string", "enum": ["", *(each.name for each in candidates)]}
	kinds = {"type": "string", "enum": list(RIGHTS)}
	return make_object(
		name=text,
		description=text,
		instructions=text,
		tools={
			"type": "array",
			"items": make_object(doctype=doctype, kinds={"type": "array", "items": kinds}),
		},
		trigger=make_object(
			trigger_type={"type": "string", "enum": ["None", "Schedule", "Doc Event"]},
			cron=text,
			reference_doctype=doctype,
			doc_event={"type": "string", "enum": ["", *EVENTS]},
			prompt=text,
		),
		max_iterations={"type": "integer"},
		daily_cost_limit={"type": "number"},
		cases={
			"type": "array",
			"items": make_object(
				prompt=text, doctype=doctype, kind={"type": "string", "enum": ["", *RIGHTS]}, question=text
			),
		},
	)


def make_object(**properties: dict) -> dict:
	return closed_object(properties, list(properties))


def read_proposal(raw: Mapping) -> dict:
	"""A proposal with known fields alone, each within its bounds.

	{name, description, instructions, tools: [{doctype, label, kinds, allowed}], trigger, max_iterations,
	daily_cost_limit, cases: [{prompt, doctype, kind, question}]}; `trigger` is None or {trigger_type, cron,
	reference_doctype, doc_event, prompt, run_as}. Tools for DocTypes that the user may not read are left out,
	and so are kinds they may not use. Raises UsageError without a name or instructions.
	"""
	texts = {key: read_text(raw.get(key), size) for key, size in TEXT_CHARS.items()}
	if not (texts["name"] and texts["instructions"]):
		raise UsageError(_("An agent needs a name and instructions."))
	tools = read_proposed_tools(raw.get("tools"))
	return {
		**texts,
		"tools": tools,
		"trigger": read_trigger(raw.get("trigger")),
		"max_iterations": int(read_number(raw.get("max_iterations"), MAX_STEPS)),
		"daily_cost_limit": read_number(raw.get("daily_cost_limit"), MAX_DAILY_COST),
		"cases": read_proposed_cases(raw.get("cases"), tools),
	}


def read_proposed_tools(raw: Any) -> list[dict]:
	"""The proposed tools for DocTypes that the user may access: [{doctype, label, kinds, allowed}]."""
	wanted = {
		row["doctype"]: row.get("kinds") for row in read_rows(raw) if isinstance(row.get("doctype"), str)
	}
	tools = []
	for doctype, kinds in list(wanted.items())[:MAX_TOOL_DOCTYPES]:
		candidate = Candidate.find(doctype)
		if candidate:
			chosen = [kind for kind in candidate.kinds if isinstance(kinds, list) and kind in kinds]
			tools.append(
				{
					"doctype": doctype,
					"label": candidate.label,
					"kinds": chosen,
					"allowed": list(candidate.kinds),
				}
			)
	return tools


def read_trigger(raw: Any) -> dict | None:
	"""The trigger; None if it is missing or cannot work."""
	if not isinstance(raw, Mapping):
		return None
	common = {
		"prompt": read_text(raw.get("prompt"), PROMPT_CHARS),
		"run_as": read_text(raw.get("run_as"), 140) or frappe.session.user,
	}
	doctype, event = raw.get("reference_doctype"), raw.get("doc_event")
	cron = " ".join(read_text(raw.get("cron"), 100).split())
	if raw.get("trigger_type") == "Schedule" and CRON.fullmatch(cron):
		return {"trigger_type": "Schedule", "cron": cron, **common}
	if raw.get("trigger_type") == "Doc Event" and event in EVENTS and Candidate.find(doctype):
		return {"trigger_type": "Doc Event", "reference_doctype": doctype, "doc_event": event, **common}
	return None


def read_proposed_cases(raw: Any, tools: Sequence[Mapping]) -> list[dict]:
	"""Cases with a prompt and something to check: the call of a proposed tool, or a question."""
	offered = {(tool["doctype"], kind) for tool in tools for kind in tool["kinds"]}
	cases = []
	for row in read_rows(raw):
		call = (row.get("doctype"), row.get("kind"))
		doctype, kind = call if call in offered else ("", "")
		case = {"doctype": doctype, "kind": kind}
		case |= {key: read_text(row.get(key), PROMPT_CHARS) for key in ("prompt", "question")}
		if case["prompt"] and (doctype or case["question"]):
			cases.append(case)
	return cases[:MAX_CASES]


def read_rows(raw: Any) -> list[Mapping]:
	return [row for row in raw if isinstance(row, Mapping)] if isinstance(raw, list) else []


def read_text(value: Any, max_chars: int) -> str:
	return value.strip()[:max_chars].rstrip() if isinstance(value, str) else ""


def read_number(value: Any, largest: float) -> float:
	"""A number; 0, which means the site's default, if it is invalid."""
	is_number = isinstance(value, int | float) and not isinstance(value, bool) and value == value
	return max(0.0, min(float(value), largest)) if is_number else 0.0
