"""Writes a proposal without a model, from the words of the sentence: DocTypes, verbs of change, times."""

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from frappe import _

from huf.ai.core.tokenizer import strip_accents
from huf.ai.setup.proposal_doctypes import Candidate

WORDS: Mapping[str, str] = json.loads(
	Path(__file__).with_name("proposal_words.json").read_text(encoding="utf-8")
)
"""Regular expressions over lower case without accents in English, German, Spanish and Czech, by meaning."""
MAX_DOCTYPES = 3
NAME_CHARS = 40
MAX_ITERATIONS, DAILY_COST_LIMIT = 10, 1.0
DAYS = {"weekdays": "* * 1-5", "daily": "* * *", "weekly": "* * 1", "monthly": "1 * *", "watch": "* * 1-5"}
WEEK = ("sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday")
A_DAY = "|".join(WORDS[day] for day in WEEK)
RECURRING_DAYS = f"{WORDS['every']}({A_DAY})({WORDS['and']}({A_DAY}))*"
"""Finds "every Tuesday and Friday", but not "due on Friday"."""
DEFAULT_HOUR = 8


def write_template(sentence: str, candidates: Sequence[Candidate]) -> dict:
	"""A proposal as a model would write it, for `proposals.read_proposal`."""
	text, named = strip_accents(sentence), choose_named(candidates)
	kinds = ["list", "read", *(kind for kind in ("create", "update") if has(kind, text))]
	labels = ", ".join(each.label for each in named)
	lines = [
		_("You are an agent with this task: {0}").format(sentence),
		_("Look records up with your tools before you answer. Never guess a name, a date or an amount."),
		_("Name each record you mention. Begin with the answer, then the details."),
		_("If you find nothing, or a tool fails, say so."),
	]
	if named:
		lines.insert(1, _("You work with these records: {0}.").format(labels))
	return {
		"name": make_name(sentence),
		"description": sentence,
		"instructions": "\n".join(lines),
		"tools": [{"doctype": each.name, "kinds": kinds} for each in named],
		"trigger": write_trigger(sentence, text, named),
		"max_iterations": MAX_ITERATIONS,
		"daily_cost_limit": DAILY_COST_LIMIT,
		"cases": [case for each in named[:1] for case in write_cases(sentence, each)],
	}


def choose_named(candidates: Sequence[Candidate]) -> list[Candidate]:
	"""The DocTypes that the sentence names best."""
	best = max((each.score for each in candidates), default=0)
	return [each for each in candidates if best and each.score == best][:MAX_DOCTYPES]


def write_trigger(sentence: str, text: str, named: Sequence[Candidate]) -> dict | None:
	if named and has("new_record", text):
		event = {"reference_doctype": named[0].name, "doc_event": "after_insert"}
		return {"trigger_type": "Doc Event", **event, "prompt": f"{sentence}\n\n{{{{ doc.name }}}}"}
	if has("hourly", text):
		return {"trigger_type": "Schedule", "cron": "0 * * * *", "prompt": sentence}
	when = read_cron_days(text)
	if when is None:
		return None
	return {"trigger_type": "Schedule", "cron": f"{read_cron_time(text)} {when}", "prompt": sentence}


def read_cron_days(text: str) -> str | None:
	"""Day, month and weekday of a cron expression."""
	interval = next((key for key in DAYS if has(key, text)), "")
	found = re.search(RECURRING_DAYS, text) if interval in ("", "weekly", "watch") else None
	if found:
		return "* * " + ",".join(str(number) for number, day in enumerate(WEEK) if has(day, found[0]))
	return DAYS.get(interval)


def read_cron_time(text: str) -> str:
	"""Minute and hour of a cron expression."""
	found = re.search(WORDS["time"], text)
	hour, minute = (int(found[1]), int(found[2] or 0)) if found else (DEFAULT_HOUR, 0)
	if found and found[3] and hour <= 12:
		hour = hour % 12 + (12 if found[3] == "pm" else 0)
	return f"{minute} {hour}" if hour < 24 and minute < 60 else f"0 {DEFAULT_HOUR}"


def write_cases(sentence: str, candidate: Candidate) -> list[dict]:
	prompts = (
		sentence,
		_("How many {0} records are there?").format(candidate.label),
		_("List the {0} records.").format(candidate.label),
	)
	return [{"prompt": prompt, "doctype": candidate.name, "kind": "list"} for prompt in prompts]


def make_name(sentence: str) -> str:
	"""The beginning of the sentence, up to its first pause."""
	start = re.split(WORDS["pause"], sentence, maxsplit=1, flags=re.IGNORECASE)[0].strip() or sentence
	short = start if len(start) <= NAME_CHARS else start[: NAME_CHARS + 1].rsplit(" ", 1)[0][:NAME_CHARS]
	return short[:1].upper() + short[1:]


def has(meaning: str, text: str) -> bool:
	return re.search(WORDS[meaning], text) is not None
