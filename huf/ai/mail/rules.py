"""Finds the rule that takes a mail: the first one in order whose conditions are all met.

A decision lists the result of every condition. Pure; a person's regular expression runs under a time-out.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from enum import Enum
from typing import Any, NamedTuple

from huf.ai.core.errors import UsageError
from huf.ai.core.text_decoding import EMAIL_ADDRESS
from huf.ai.core.timed_pattern import PatternError, compile_pattern
from huf.ai.core.trigger_types import ConditionResult
from huf.ai.mail.compose import to_ascii_domains
from huf.ai.mail.message import MailMessage

POSITION_STEP = 10
"""Distance between the positions of rules, so that another fits in between."""
MAX_PATTERN_CHARS = 500
PATTERN_TIMEOUT_S = 0.1
"""A backtest searches hundreds of mails."""
MAX_VALUE_CHARS = 5_000
MAX_BODY_CHARS = 200_000


class MailRoute(str, Enum):
	PIPELINE = "pipeline"
	AGENT = "agent"


@dataclass(frozen=True)
class Rule:
	"""`match`: conditions by name (see `CONDITIONS`). `profile`: the agent, for the route `agent`."""

	name: str
	match: Mapping[str, Any]
	route: MailRoute = MailRoute.PIPELINE
	profile: str | None = None
	preprocessor: str | None = None


class RulePosition(NamedTuple):
	"""`takes_all`: enabled, and every mail matches."""

	name: str
	position: int
	takes_all: bool


@dataclass(frozen=True)
class RuleResult:
	"""The results of a rule's conditions for one mail."""

	rule: str
	fits: bool
	checks: tuple[ConditionResult, ...]


@dataclass(frozen=True)
class MailDecision:
	"""Where a mail goes. `rule` is None if no rule fits; `tried` are the rules up to the one that does."""

	route: MailRoute = MailRoute.PIPELINE
	rule: str | None = None
	profile: str | None = None
	preprocessor: str | None = None
	tried: tuple[RuleResult, ...] = field(default=())

	def checks_as_json(self) -> str:
		return json.dumps([asdict(each) for each in self.tried], ensure_ascii=False)


def find_route(rules: Iterable[Rule], message: MailMessage) -> MailDecision:
	"""The decision of the first rule that fits; without one, the pipeline."""
	tried: list[RuleResult] = []
	for rule in rules:
		tried.append(try_rule(rule, message))
		if tried[-1].fits:
			return MailDecision(rule.route, rule.name, rule.profile, rule.preprocessor, tuple(tried))
	return MailDecision(tried=tuple(tried))


def try_rule(rule: Rule, message: MailMessage) -> RuleResult:
	"""Evaluate every condition, also after one that is not met, so that people see all results."""
	checks = [check for name, wanted in rule.match.items() for check in CONDITIONS[name](message, wanted)]
	return RuleResult(rule.name, bool(checks) and all(check.ok for check in checks), tuple(checks))


# --- conditions ---


def check_all(message: MailMessage, wanted: bool) -> Iterator[ConditionResult]:
	yield ConditionResult("every mail", bool(wanted))


def check_sender(message: MailMessage, wanted: str) -> Iterator[ConditionResult]:
	yield ConditionResult(f"sender is {wanted}", message.sender == wanted.strip().lower(), message.sender)


def check_domain(message: MailMessage, wanted: str) -> Iterator[ConditionResult]:
	domain = message.sender.rpartition("@")[2]
	known = to_ascii_domains(f"@{wanted.strip().lower().removeprefix('@')}").removeprefix("@")
	yield ConditionResult(f"sender's domain is {wanted}", bool(domain) and domain == known, domain)


def check_subject(message: MailMessage, wanted: str) -> Iterator[ConditionResult]:
	is_found = wanted.casefold() in message.subject.casefold()
	yield ConditionResult(f"subject contains {wanted!r}", is_found, message.subject)


def check_headers(message: MailMessage, wanted: Mapping[str, str]) -> Iterator[ConditionResult]:
	yield from (check_header(message, name, pattern) for name, pattern in wanted.items())


def check_header(message: MailMessage, name: str, pattern: str) -> ConditionResult:
	text, values = f"header {name} matches {pattern}", message.all_headers(name)
	if not values:
		return ConditionResult(text, False, f"there is no header {name}")
	try:
		compiled = compile_pattern(pattern, ignore_case=True, timeout_s=PATTERN_TIMEOUT_S)
		found = any(compiled.occurs_in(value[:MAX_VALUE_CHARS]) for value in values)
	except TimeoutError:
		return ConditionResult(text, False, "the expression takes too long")
	except PatternError as error:
		return ConditionResult(text, False, f"the expression cannot be read: {error}")
	return ConditionResult(text, found, " | ".join(values)[:MAX_VALUE_CHARS])


def check_forwarded(message: MailMessage, wanted: str) -> Iterator[ConditionResult]:
	"""Whether a mail was forwarded from an address: one of four signals is enough."""
	address = wanted.strip().lower()
	signals = {
		"X-Forwarded-From": address in addresses_in(message.all_headers("X-Forwarded-From")),
		"Reply-To": address in message.reply_to,
		"the body": address in addresses_in([message.text[:MAX_BODY_CHARS]]),
		"the sender": address == message.sender,
	}
	seen = [name for name, is_so in signals.items() if is_so]
	where = f"found in {', '.join(seen)}" if seen else f"in none of {', '.join(signals)}"
	yield ConditionResult(f"forwarded from {wanted}", bool(seen), where)


def addresses_in(texts: Iterable[str]) -> set[str]:
	return {found.lower().rstrip(".") for text in texts for found in EMAIL_ADDRESS.findall(text)}


CONDITIONS: dict[str, Callable[[MailMessage, Any], Iterator[ConditionResult]]] = {
	"all": check_all,
	"sender_email": check_sender,
	"sender_domain": check_domain,
	"subject_contains": check_subject,
	"header_match": check_headers,
	"forwarded_from": check_forwarded,
}


# --- order ---


def find_unreachable(rules: Iterable[Rule]) -> dict[str, str]:
	"""Rules that never take a mail, each with the earlier rule that takes all of it."""
	found: dict[str, str] = {}
	earlier: list[tuple[str, set[str]]] = []
	for rule in rules:
		wanted = {json.dumps(each, sort_keys=True) for each in rule.match.items() if each[0] != "all"}
		blocker = next((name for name, conditions in earlier if conditions <= wanted), None)
		if blocker:
			found[rule.name] = blocker
		else:
			earlier.append((rule.name, wanted))
	return found


def plan_positions(names: Sequence[str], rows: Sequence[RulePosition]) -> dict[str, int]:
	"""Positions for the rules of a file, together and in this order, without moving any other rule.

	They stay where the first of them is, else come last; but never behind an enabled rule of the site that
	takes every mail. `rows`: all rules of the site, in order.
	"""
	others = [row for row in rows if row.name not in names]
	known = [place for place, row in enumerate(rows) if row.name in names]
	before = known[0] if known else len(others)
	before = next((n for n, row in enumerate(others[:before]) if row.takes_all), before)
	low = others[before - 1].position if before else 0
	if before == len(others):
		return {name: low + POSITION_STEP * place for place, name in enumerate(names, 1)}
	high = others[before].position
	step = min(POSITION_STEP, (high - low) // (len(names) + 1))
	if step < 1:
		low, step = high - len(names) - 1, 1
	return {name: low + step * place for place, name in enumerate(names, 1)}


# --- rules that cannot work ---


def check_rule(rule: Rule) -> None:
	"""Raises UsageError for a rule that can never work as intended."""
	if not rule.match:
		raise UsageError(
			f"The rule {rule.name} has no condition. For all mail, tick Every Mail (in YAML: all: true)."
		)
	for name, wanted in rule.match.items():
		check_rule_condition(rule.name, name, wanted)
	if rule.route is MailRoute.AGENT and not rule.profile:
		raise UsageError(f"The rule {rule.name} has the route agent, but no profile.")


def check_rule_condition(rule: str, name: str, wanted: Any) -> None:
	if name not in CONDITIONS:
		raise UsageError(f"{name!r} is not a condition. Use one of {', '.join(CONDITIONS)}.")
	if name == "all":
		if wanted is not True:
			raise UsageError(f"{name} of the rule {rule} must be true.")
	elif name == "header_match":
		if not isinstance(wanted, dict) or not wanted:
			raise UsageError(
				f"{name} of the rule {rule} must be a list of header names, each with a regular expression."
			)
		for header, pattern in wanted.items():
			check_header_pattern(header, pattern)
	elif not isinstance(wanted, str) or not wanted:
		raise UsageError(f"{name} of the rule {rule} must be text.")
	elif name in ("sender_email", "forwarded_from") and not EMAIL_ADDRESS.fullmatch(wanted.strip()):
		raise UsageError(f"{name} of the rule {rule} must be one address, such as anna@example.com.")


def check_header_pattern(header: str, pattern: Any) -> None:
	if not isinstance(header, str) or not re.fullmatch(r"[!-9;-~]+", header):
		raise UsageError(f"{header!r} is not a header name.")
	if not isinstance(pattern, str) or not pattern:
		raise UsageError(f"The expression for the header {header} must be text.")
	if len(pattern) > MAX_PATTERN_CHARS:
		raise UsageError(
			f"The expression for the header {header} is longer than {MAX_PATTERN_CHARS} characters."
		)
	try:
		compile_pattern(pattern, ignore_case=True)
	except PatternError as error:
		raise UsageError(f"The expression for the header {header} cannot be read: {error}.") from None
