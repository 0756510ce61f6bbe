"""Public document functions for tools and custom functions; every one checks the user's permission."""

from huf.ai.tools.document_tools import (
	attach_file_to_document,
	cancel_document,
	create_document,
	create_documents,
	delete_document,
	delete_documents,
	get_amended_document,
	get_document,
	get_documents,
	get_list,
	get_report_result,
	get_value,
	set_value,
	submit_document,
	update_document,
	update_documents,
)

__all__ = [
	"attach_file_to_document",
	"cancel_document",
	"create_document",
	"create_documents",
	"delete_document",
	"delete_documents",
	"get_amended_document",
	"get_document",
	"get_documents",
	"get_list",
	"get_report_result",
	"get_value",
	"set_value",
	"submit_document",
	"update_document",
	"update_documents",
]
