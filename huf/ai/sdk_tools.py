"""Public names of the tool factory: Agent Tool Function records become tools of the Agents SDK."""

from huf.ai.agents.sdk import create_sdk_agent_tools as create_agent_tools
from huf.ai.agents.sdk import create_sdk_function_tool as create_function_tool
from huf.ai.agents.sdk import create_sdk_tools as create_tools
from huf.ai.agents.tool_handlers import (
	handle_attach_file_to_document,
	handle_cancel_document,
	handle_create_document,
	handle_create_documents,
	handle_delete_document,
	handle_delete_documents,
	handle_get_amended_document,
	handle_get_document,
	handle_get_documents,
	handle_get_list,
	handle_get_report_result,
	handle_get_value,
	handle_set_value,
	handle_submit_document,
	handle_update_document,
	handle_update_documents,
)

__all__ = [
	"create_agent_tools",
	"create_function_tool",
	"create_tools",
	"handle_attach_file_to_document",
	"handle_cancel_document",
	"handle_create_document",
	"handle_create_documents",
	"handle_delete_document",
	"handle_delete_documents",
	"handle_get_amended_document",
	"handle_get_document",
	"handle_get_documents",
	"handle_get_list",
	"handle_get_report_result",
	"handle_get_value",
	"handle_set_value",
	"handle_submit_document",
	"handle_update_document",
	"handle_update_documents",
]
