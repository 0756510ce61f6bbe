"""Routes mail by the site's records: the rules in order, and the preprocessors. Only reads."""

import json
from collections.abc import Mapping

import frappe

from huf.ai.mail.crisp import is_from_crisp, read_crisp
from huf.ai.mail.message import MailMessage
from huf.ai.mail.preprocess import DEFAULT, Preprocessor
from huf.ai.mail.rules import MailDecision, MailRoute, Rule, RulePosition, find_route

BUILT_IN = {"crisp": Preprocessor(is_from_crisp, read_crisp)}
RULE = "Agent Route Rule"
TEXT_CONDITIONS = ("sender_email", "sender_domain", "subject_contains", "forwarded_from")


def route_mail(message: MailMessage, rules: list[Rule] | None = None) -> MailDecision:
	"""The decision of the enabled rules, or of `rules`, for a mail."""
	return find_route(read_rules() if rules is None else rules, message)


def read_rules() -> list[Rule]:
	"""The enabled rules in their order."""
	rows = frappe.get_all(RULE, {"disabled": 0}, ["*"], order_by="position asc, name asc")
	return [rule_from_row(row) for row in rows]


def read_positions() -> list[RulePosition]:
	"""All rules in their order."""
	fields = ["name", "position", "disabled", "match_all", "header_match", *TEXT_CONDITIONS]
	rows = frappe.get_all(RULE, fields=fields, order_by="position asc, name asc")
	return [RulePosition(row.name, row.position or 0, is_for_all(row)) for row in rows]


def is_for_all(row) -> bool:
	return not row.disabled and not any(row.get(name) for name in ("header_match", *TEXT_CONDITIONS))


def rule_from_row(row) -> Rule:
	"""An Agent Route Rule (document or row) as a Rule. Raises ValueError if its headers are not JSON."""
	match: dict = {"all": True} if row.match_all else {}
	match |= {name: row.get(name) for name in TEXT_CONDITIONS if row.get(name)}
	if row.header_match:
		match["header_match"] = json.loads(row.header_match)
	route = MailRoute(row.route or MailRoute.PIPELINE)
	return Rule(row.name or row.rule_name, match, route, row.profile or None, row.preprocessor or None)


def rule_to_fields(rule: Rule) -> dict:
	"""A Rule as values of an Agent Route Rule."""
	headers = rule.match.get("header_match")
	return {
		"match_all": int(bool(rule.match.get("all"))),
		**{name: rule.match.get(name) for name in TEXT_CONDITIONS},
		"header_match": json.dumps(headers, ensure_ascii=False, indent=1) if headers else None,
		"route": rule.route.value,
		"profile": rule.profile,
		"preprocessor": rule.preprocessor,
	}


def read_preprocessors() -> Mapping[str, Preprocessor]:
	"""Preprocessors by name: built-in ones, and those of apps.

	Hook: `huf_mail_preprocessors = {"name": "app.module"}`, a module with the functions `fits` and `read`.
	"""
	known = dict(BUILT_IN)
	for name, path in (frappe.get_hooks("huf_mail_preprocessors") or {}).items():
		path = path[-1] if isinstance(path, list) else path
		known[name] = Preprocessor(frappe.get_attr(f"{path}.fits"), frappe.get_attr(f"{path}.read"))
	return known


def preprocessor_names() -> list[str]:
	"""Names that a mailbox can select, including those from apps."""
	return [DEFAULT, *read_preprocessors()]
