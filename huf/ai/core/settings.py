"""Huf Settings and environment variables as one frozen value. Read-only."""

import os
import re
from dataclasses import dataclass, fields
from typing import Any

import frappe

from huf.ai.core.field_values import split_lines


@dataclass(frozen=True)
class Settings:
	"""Effective settings. Time-outs are in seconds; models are names of AI Model or None."""

	default_model: str | None
	history_limit: int
	max_steps: int
	model_timeout: int
	model_retries: int
	tool_timeout: int
	max_tool_failures: int
	inline_timeout: int
	background_timeout: int
	answer_tokens: int
	keep_contents_days: int
	keep_runs_days: int
	trace_contents: bool
	max_trigger_depth: int
	allowed_hosts: str
	mask_patterns: str
	personal_fields: str
	mask_for_local_models: bool
	search_provider: str | None
	search_base_url: str | None
	draft_expiry_hours: int
	approval_links_without_sign_in: bool
	stop_after_failures: int
	stop_after_cost: float
	stop_after_refusals: int
	stop_after_record_writes: int
	inline_steps: int
	background_steps: int
	tier_models: tuple[str | None, ...]
	cloud_tasks: tuple[str, ...]
	router_confidence_threshold: float
	enable_dynamic_escalation: bool
	router_agent: str | None


ENVIRONMENT_VARIABLES = {
	"max_steps": "MAX_AGENT_STEPS",
	"router_confidence_threshold": "ROUTER_CONFIDENCE_THRESHOLD",
	"enable_dynamic_escalation": "ENABLE_DYNAMIC_ESCALATION",
}
MAY_BE_ZERO = {
	"model_retries",
	"keep_contents_days",
	"keep_runs_days",
	"stop_after_failures",
	"stop_after_refusals",
	"stop_after_record_writes",
}
"""Numbers of which 0 is a value; of others it means the default."""
ON, OFF = ("1", "true", "yes", "on"), ("0", "false", "no", "off")


def get_settings() -> Settings:
	"""The settings in effect. Environment variables override the record, where 0 means the default."""
	doc = frappe.get_cached_doc("Huf Settings")
	environment = tuple(map(os.environ.get, ENVIRONMENT_VARIABLES.values()))
	if doc.flags.huf_environment != environment:
		doc.flags.update(huf_environment=environment, huf_settings=read_settings(doc))
	return doc.flags.huf_settings


def read_settings(doc: Any) -> Settings:
	special: dict[str, Any] = {
		"tier_models": (doc.tier1_model or None, doc.tier2_model or None, doc.tier3_model or None),
		"cloud_tasks": tuple(split_lines(doc.cloud_tasks)),
		"router_confidence_threshold": read_fraction(doc, "router_confidence_threshold"),
		"enable_dynamic_escalation": read_switch(doc, "enable_dynamic_escalation"),
	}
	plain = {
		each.name: read_value(doc, each.name, each.type)
		for each in fields(Settings)
		if each.name not in special
	}
	return Settings(**special, **plain)


def read_value(doc: Any, fieldname: str, kind: Any) -> Any:
	"""A setting as `kind`. An empty number, other than those in MAY_BE_ZERO, means its default."""
	if kind is int and fieldname not in MAY_BE_ZERO:
		return read_int(doc, fieldname)
	value = doc.get(fieldname)
	return value or None if kind == str | None else kind(value or kind())


def read_int(doc: Any, fieldname: str) -> int:
	from_environment = os.environ.get(ENVIRONMENT_VARIABLES.get(fieldname, ""), "")
	if re.fullmatch("0*[1-9][0-9]{0,8}", from_environment):
		return int(from_environment)
	return int(doc.get(fieldname) or doc.meta.get_field(fieldname).default)


def read_fraction(doc: Any, fieldname: str) -> float:
	"""A number from 0 to 1; an invalid value in the environment is ignored."""
	try:
		value = float(os.environ.get(ENVIRONMENT_VARIABLES[fieldname], ""))
	except ValueError:
		value = -1.0
	return value if 0 <= value <= 1 else float(doc.get(fieldname) or doc.meta.get_field(fieldname).default)


def read_switch(doc: Any, fieldname: str) -> bool:
	value = os.environ.get(ENVIRONMENT_VARIABLES[fieldname], "").strip().lower()
	return bool(doc.get(fieldname)) if value not in ON + OFF else value in ON


def is_installing() -> bool:
	"""Whether an app is being installed or removed, or the site migrated: documents are saved then while the
	code names tables and columns that do not exist yet.
	"""
	flags = frappe.flags
	return bool(flags.in_install or flags.in_uninstall or flags.in_migrate or flags.in_patch)


def find_cached(doctype: str, name: str | None) -> Any:
	"""A document from the cache, else from the database; None if it does not exist.

	Databases may compare names without regard to case. The cache does not, and is cleared only under the
	stored name, so that one is used.
	"""
	try:
		doc = frappe.get_cached_doc(doctype, name) if name else None
		return doc if not doc or doc.name == name else frappe.get_cached_doc(doctype, doc.name)
	except frappe.DoesNotExistError:
		frappe.clear_last_message()
		return None
