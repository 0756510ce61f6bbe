"""Renders a trigger's prompt template. It reads copies of values and cannot change anything."""

import json
from typing import Any

import frappe
from frappe import _
from jinja2 import Environment, TemplateSyntaxError
from jinja2.nodes import Extends, FromImport, Import, Include

from huf.ai.core.errors import UsageError
from huf.ai.core.stored_text import clip
from huf.ai.core.templates import render_template

MAX_ERROR_CHARS = 300
OTHER_TEMPLATES = (Extends, FromImport, Import, Include)
TEMPLATE_OVERRIDES: dict[str, Any] = {"frappe": {}}
"""Templates get values only: who writes a trigger must not read past permissions."""


def validate_prompt(template: str | None) -> None:
	"""Raises UsageError for a prompt that can never be rendered."""
	try:
		tree = Environment().parse(template or "")  # noqa: S701 (parsed only)
	except TemplateSyntaxError as error:
		text = _("The prompt is not a Jinja template: {0} (line {1}).")
		raise UsageError(text.format(error.message, error.lineno)) from None
	if ".__" in (template or ""):
		raise UsageError(_("Names with two underscores are not allowed in a prompt."))
	if next(tree.find_all(OTHER_TEMPLATES), None):
		# On a bench these read any template file of an app, and an app's source may hold more than a prompt.
		raise UsageError(
			_("A prompt cannot include, import or extend another template. Write the text into it.")
		)


def render_prompt(template: str, names: dict) -> str:
	"""The rendered prompt. Raises UsageError if it cannot be rendered or is empty."""
	text = render_text(template, names)
	if not text:
		raise UsageError(_("The rendered prompt is empty."))
	return text


def render_text(template: str, names: dict) -> str:
	"""The rendered template without surrounding spaces. Raises UsageError if it cannot be rendered."""
	validate_prompt(template)
	message_count = len(frappe.local.message_log)
	try:
		return render_template(template, {**names, **TEMPLATE_OVERRIDES}).strip()
	except Exception as error:  # the boundary around a template
		# Frappe's filters show their errors to the user, who only saved a document.
		del frappe.local.message_log[message_count:]
		message = f"{type(error).__name__}: {error}"[:MAX_ERROR_CHARS]
		raise UsageError(_("The template cannot be rendered: {0}").format(message)) from None


def payload_as_text(payload: Any, max_chars: int) -> str:
	"""A payload as a model reads it: text as it is, anything else as JSON."""
	if payload is None:
		return ""
	if not isinstance(payload, str):
		payload = json.dumps(payload, indent=1, ensure_ascii=False, default=str)
	return clip(payload, max_chars)
