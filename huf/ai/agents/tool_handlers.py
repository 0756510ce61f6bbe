"""What a tool of each type does: turns a model's arguments into one call of the module that does the work.

Handlers check nothing about documents themselves: `tools/document_tools.py` does.
"""

from collections.abc import Awaitable, Callable

import frappe

from huf.ai.core.call_key import CALL_KEY
from huf.ai.core.errors import ToolError, UsageError
from huf.ai.core.files import read_stored_bytes
from huf.ai.core.settings import get_settings
from huf.ai.knowledge import memory
from huf.ai.knowledge.search import search_knowledge
from huf.ai.mcp.client import connections
from huf.ai.tools import custom_functions, document_tools, extraction, http, messages, registry
from huf.ai.tools.call_policy import make_redirect_check
from huf.ai.tools.operations import Operation
from huf.ai.tools.sources import number_results
from huf.ai.tools.types import (
	CODE_TYPES,
	KNOWLEDGE,
	MCP_TOOL,
	NOTIFY,
	READ_DOCUMENT,
	RECALL,
	REMEMBER,
	SEND_MAIL,
)

RunChild = Callable[[str, str], Awaitable[dict]]
"""Runs another agent as a tool call of the current run: (agent name, prompt) -> {run, status, response,
error}.
"""


def on_doctype(work: Callable) -> Callable:
	"""A handler that calls a function of `document_tools` with the tool's DocType."""

	def handle(tool, /, **arguments):
		return work(tool.reference_doctype, **arguments)

	return handle


handle_get_document = on_doctype(document_tools.get_document)
handle_get_documents = on_doctype(document_tools.get_documents)
handle_get_list = on_doctype(document_tools.get_list)
handle_get_value = on_doctype(document_tools.get_value)
handle_create_documents = on_doctype(document_tools.create_documents)
handle_update_document = on_doctype(document_tools.update_document)
handle_update_documents = on_doctype(document_tools.update_documents)
handle_set_value = on_doctype(document_tools.set_value)
handle_delete_document = on_doctype(document_tools.delete_document)
handle_delete_documents = on_doctype(document_tools.delete_documents)
handle_submit_document = on_doctype(document_tools.submit_document)
handle_cancel_document = on_doctype(document_tools.cancel_document)
handle_get_amended_document = on_doctype(document_tools.get_amended_document)


def handle_create_document(tool, /, **values):
	return document_tools.create_document(tool.reference_doctype, values)


def handle_amend_document(tool, name, values=None):
	return document_tools.amend_document(tool.reference_doctype, name, values or {})


def handle_attach_file_to_document(tool, name, doctype=None, **file):
	return document_tools.attach_file_to_document(tool.reference_doctype or doctype, name, **file)


def handle_get_report_result(tool, filters=None):
	return document_tools.get_report_result(tool.report, filters)


def get_code_function(tool) -> Callable:
	"""The function of a tool in code. Raises ToolError if it is gone."""
	try:
		return registry.find_tool_function(tool)
	except UsageError as error:
		raise ToolError(str(error)) from error


def handle_code(tool, /, **arguments):
	return custom_functions.call_function(get_code_function(tool), arguments)


def describe_code_call(tool, /, **arguments):
	"""What a call would get. Raises ToolError for arguments that the function does not take."""
	custom_functions.check_function_call(get_code_function(tool), arguments)
	# The approval names the function: a manager could point the tool at another one before it is called.
	function = {"function": tool.function_path} if tool.function_path else {}
	return {"tool": tool.tool_name, **function, "arguments": arguments}


async def handle_http(tool, /, **arguments):
	request = build_request(tool, arguments)
	method = request.pop("method")
	answer = await http.send_request(
		method,
		request.pop("url"),
		base_url=tool.base_url,
		headers={**request.pop("headers"), **tool_headers(tool)},
		idempotency_key=CALL_KEY.get() if tool.types == "POST" else None,
		allow_private=bool(tool.allow_private_hosts),
		timeout=get_settings().tool_timeout,
		before_each=make_redirect_check(tool.base_url),
		**request,
	)
	return answer if method in ("GET", "HEAD") else http.check_accepted(answer)


def build_request(tool, arguments) -> dict:
	"""{method, url, headers, body, params} of a call, without the tool's own headers."""
	if not tool.operation:
		return {"method": tool.types, "url": "", "headers": {}, **arguments}
	operation = Operation.parse(tool.operation)
	request = operation.build_request(tool.base_url, arguments)
	own = {row.header.lower() for row in tool.headers}
	headers = {name: value for name, value in request.headers.items() if name.lower() not in own}
	return {"method": operation.method, "url": request.url, "headers": headers, "body": request.body}


def describe_http(tool, /, **arguments):
	request = build_request(tool, arguments)
	sent = request.pop("headers")
	own = [row.header for row in tool.headers]
	described = http.describe_request(**request, base_url=tool.base_url, headers=[*sent, *own])
	return {**described, "headers": {**described["headers"], **sent}}


def tool_headers(tool) -> dict[str, str]:
	return {row.header: row.get_password("value") for row in tool.headers}


def handle_search_knowledge(tool, query, limit=6, sources=None):
	return number_results(search_knowledge(query, sources, limit), frappe.flags.huf_run)


async def handle_run_agent(run_child: RunChild | None, tool, prompt):
	if run_child is None:
		raise ToolError("Another agent can be run only from within a run.")
	if not tool.result_schema:
		return await run_child(tool.agent, prompt)
	schema = extraction.parse_schema(tool.result_schema)
	result = await run_child(tool.agent, extraction.build_prompt(prompt, schema))
	return extraction.extract_fields(result, tool.agent, schema)


async def handle_speech_to_text(tool, file_url):
	from huf.ai.providers import services

	source = document_tools.get_readable_file(file_url)
	if not source.file_name:
		raise ToolError("That file has no name.")
	return await services.transcribe_audio(tool.model, source.file_name, read_stored_bytes(source))


async def handle_mcp_tool(tool, /, **arguments):
	return await connections.call_connection_tool(tool.mcp_connection, tool.mcp_tool, arguments)


def handle_send_mail(tool, to, subject, body):
	return messages.send_mail(to, subject, body, tool.mail_template)


def describe_new_mail(tool, /, to, subject, body):
	try:
		mail = messages.compose_mail(to, subject, body, tool.mail_template)
	except ToolError:  # the call will fail; a person may correct or reject it
		mail = {"to": to, "subject": subject, "body": body}
	return {"tool": tool.tool_name, "arguments": mail}


def handle_notify(tool, to, subject, text=""):
	return messages.notify(to, subject, text, bool(tool.notify_by_mail))


def handle_remember(tool, fact, agent=None, **where):
	return memory.remember(fact, agent, **where)


def handle_recall(tool, query="", agent=None, **where):
	return memory.recall(query, agent, **where)


HANDLERS: dict[str, Callable] = {
	"Get Document": handle_get_document,
	"Get Multiple Documents": handle_get_documents,
	"Get List": handle_get_list,
	READ_DOCUMENT: on_doctype(document_tools.get_summaries),
	"Create Document": handle_create_document,
	"Create Multiple Documents": handle_create_documents,
	"Update Document": handle_update_document,
	"Update Multiple Documents": handle_update_documents,
	"Delete Document": handle_delete_document,
	"Delete Multiple Documents": handle_delete_documents,
	"Submit Document": handle_submit_document,
	"Cancel Document": handle_cancel_document,
	"Amend Document": handle_amend_document,
	"Get Amended Document": handle_get_amended_document,
	**dict.fromkeys(CODE_TYPES, handle_code),
	"Attach File to Document": handle_attach_file_to_document,
	"Get Report Result": handle_get_report_result,
	"Get Value": handle_get_value,
	"Set Value": handle_set_value,
	"GET": handle_http,
	"POST": handle_http,
	KNOWLEDGE: handle_search_knowledge,
	"Speech to Text": handle_speech_to_text,
	MCP_TOOL: handle_mcp_tool,
	SEND_MAIL: handle_send_mail,
	NOTIFY: handle_notify,
	REMEMBER: handle_remember,
	RECALL: handle_recall,
}
"""By type; Run Agent has none here, because its handler needs a `RunChild`."""
REQUESTS: dict[str, Callable] = {
	"GET": describe_http,
	"POST": describe_http,
	SEND_MAIL: describe_new_mail,
	**dict.fromkeys(CODE_TYPES, describe_code_call),
}
"""By type: describes what a call would send."""
