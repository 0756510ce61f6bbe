"""Runs a model's code in the sandbox that the site provides, never in Huf's process."""

from typing import Any

import frappe

from huf.ai.core.errors import ToolError
from huf.ai.core.types import Effect
from huf.ai.tools.registry import tool

NO_SANDBOX = (
	"This site has no sandbox, so no code is run. An app can provide one by the hook huf_sandbox: "
	"the dotted path of a function of (code, language)."
)


@tool(effect=Effect.EXTERNAL)
def execute_code(code: str, language: str = "python") -> Any:
	"""Run a piece of code in the site's sandbox and return what it printed.

	Args:
		code: The whole program
		language: The language it is written in
	"""
	paths = frappe.get_hooks("huf_sandbox")
	if not paths:
		raise ToolError(NO_SANDBOX)
	return frappe.get_attr(paths[-1])(code, language)
