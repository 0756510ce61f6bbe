import json
import re
from collections.abc import Iterable

import frappe
from frappe import _
from frappe.model.document import Document

from huf.ai.core.field_values import check_field_values, split_lines, throwing
from huf.ai.core.stored_secrets import (
	delete_removed_secrets,
	delete_row_secrets,
	keeps_secret,
	refuse_address,
	require_row_secrets,
)
from huf.ai.core.types import Effect
from huf.ai.mcp.client.connections import find_chosen
from huf.ai.mcp.client.definitions import ToolDefinition
from huf.ai.tools import custom_functions, registry
from huf.ai.tools.extraction import parse_schema
from huf.ai.tools.operations import Operation
from huf.ai.tools.registry import Declarations
from huf.ai.tools.signatures import build_schema
from huf.ai.tools.types import (
	DOCTYPE_FIELD,
	MCP_TOOL,
	NO_PARAMETERS,
	RUN_AGENT,
	SINGLE_TYPES,
	TOOL_NAME,
	TOOL_TYPES,
	build_description,
	build_parameters,
	get_json_type,
	list_tool_names,
	parse_row_value,
)

CONFIGURABLE_EFFECT = {"Custom Function", "App Provided", "GET", "POST", "Run Agent", MCP_TOOL}
"""Types whose effect the type alone does not determine."""

EXTERNAL_RESULTS = {"GET", "POST", "Run Agent", "Speech to Text", MCP_TOOL}
"""Types of Huf whose results are outside content."""


def format_sensitive(names: Iterable[str] | None) -> str:
	"""The names for the field; blank: all parameters."""
	return "" if names is None else "\n".join(names) or NO_PARAMETERS


class AgentToolFunction(Document):
	"""A tool. Each save rebuilds the function definition that is sent to the model."""

	def validate(self):
		check_field_values(self)
		self.check_name()
		self.check_needs()
		self.copy_mcp_tool()
		self.check_parameters()
		self.check_address()
		self.check_operation()
		self.check_result_schema()
		self.follow_code()
		self.set_effect()
		self.set_declarations()
		self.set_definition()

	def on_update(self):
		delete_removed_secrets(self, "headers")

	def on_trash(self):
		delete_row_secrets(self.headers)

	def check_name(self):
		if not all(TOOL_NAME.fullmatch(name) for name in list_tool_names(self.tool_name or "", self.types)):
			frappe.throw(_("Use only letters, digits, _ and - in a tool's name, and at most 64 of them."))

	def check_needs(self):
		if not self.types:
			frappe.throw(_("{0} is missing.").format(_(self.meta.get_label("types"))))
		needed = TOOL_TYPES[self.types].needs
		if needed and not self.get(needed):
			frappe.throw(
				_("A tool of type {0} needs {1}.").format(self.types, _(self.meta.get_label(needed)))
			)
		if self.reference_doctype:
			self.check_doctype(frappe.get_meta(self.reference_doctype))
		if self.second_person and self.amount_field and needed == DOCTYPE_FIELD:
			self.check_amount_field(frappe.get_meta(self.reference_doctype))

	def check_doctype(self, meta):
		if meta.istable:
			frappe.throw(_("{0} is a child table. Choose its parent DocType.").format(meta.name))
		if meta.issingle and TOOL_TYPES[self.types].needs == DOCTYPE_FIELD and self.types not in SINGLE_TYPES:
			frappe.throw(
				_("{0} has only one document. Choose Get Document, Update Document or Set Value.").format(
					meta.name
				)
			)

	def check_amount_field(self, meta):
		"""Of another field no call has an amount, and then every call needs a second person."""
		tables = [frappe.get_meta(df.options) for df in meta.get_table_fields()]
		if not any(each.has_field(self.amount_field) for each in (meta, *tables)):
			frappe.throw(_("{0} has no field {1}.").format(meta.name, self.amount_field))

	def copy_mcp_tool(self):
		"""Copy effect and approval from the MCP Server Connection, where people set them."""
		if self.types != MCP_TOOL:
			self.mcp_connection = self.mcp_tool = None
			return
		connection = frappe.get_doc("MCP Server Connection", self.mcp_connection)
		row = find_chosen(connection, self.mcp_tool)
		if row is None:
			frappe.throw(_("Choose the tool in its MCP Server Connection; that makes its record here."))
		self.description, self.effect = row.description, row.effect
		self.requires_approval, self.base_url = row.requires_approval, connection.origin

	def check_parameters(self):
		names = [row.fieldname or "" for row in self.parameters]
		for name in names:
			if not name.isidentifier():
				frappe.throw(
					_("{0} cannot be a parameter's name. Use only letters, digits and _.").format(name)
				)
			if names.count(name) > 1:
				frappe.throw(_("The parameter {0} is listed twice.").format(name))
			if self.types == "Create Document" and not self.is_creatable(name):
				frappe.throw(_("{0} has no field {1}.").format(self.reference_doctype, name))
		for row in self.parameters:
			check_field_values(row)
			self.check_parameter_values(row)

	def is_creatable(self, name: str) -> bool:
		return name == "name" or frappe.get_meta(self.reference_doctype).has_field(name)

	def check_parameter_values(self, row):
		from jsonschema import Draft202012Validator

		schema = Draft202012Validator({"type": get_json_type(row)})
		for text in [*split_lines(row.options), *([row.default_value] if row.default_value else ())]:
			if not schema.is_valid(parse_row_value(row, text)):
				frappe.throw(_("{0}: {1} is not of the type {2}.").format(row.fieldname, text, row.type))

	def check_address(self):
		if self.headers and not self.base_url:
			frappe.throw(
				_("A tool with headers needs a Base URL, because headers are sent only to that host.")
			)
		if self.base_url and not re.match(r"https?://[^/\s]+", self.base_url):
			frappe.throw(_("Base URL must begin with http:// or https://"))
		require_row_secrets(self, "headers", "value")
		before = self.get_doc_before_save()
		if before and before.base_url and before.base_url != self.base_url:
			self.check_headers()

	def check_operation(self):
		if not self.operation:
			return
		operation = self.parse_operation()
		if operation.tool_type != self.types or not self.base_url:
			frappe.throw(
				_("An operation with {0} needs the type {1} and a Base URL.").format(
					operation.method, operation.tool_type
				)
			)
		if self.parameters:
			frappe.throw(_("The operation defines the parameters. Remove the rows under Parameters."))

	def parse_operation(self) -> Operation:
		with throwing():
			return Operation.parse(self.operation)

	def check_result_schema(self):
		if self.types != RUN_AGENT:
			self.result_schema = None
		if self.result_schema:
			with throwing():
				parse_schema(self.result_schema)

	def check_headers(self):
		"""Header values are sent to Base URL: a new address needs them again."""
		for row in self.headers:
			if keeps_secret(row, "value"):
				refuse_address(self, "base_url", row.header)

	def set_effect(self):
		"""The type determines the effect, except for types that can do anything; these default to what the
		code declares.
		"""
		if self.types not in CONFIGURABLE_EFFECT:
			self.effect = TOOL_TYPES[self.types].effect.value
		if not self.effect and self.types == "Custom Function" and self.documents_only:
			self.effect = Effect.WRITE.value
		if not self.effect:
			known = self.offered() or TOOL_TYPES[self.types]
			self.effect = known.effect.value

	def set_declarations(self):
		"""What an app's tool declares counts; a person declares custom functions, and in part MCP tools."""
		if self.types == "Custom Function":
			return
		if self.types == MCP_TOOL:
			self.documents_only, self.untrusted_result = 0, 1
			return
		offered = self.offered()
		declared = offered.declared if offered else Declarations()
		self.documents_only = int(bool(offered) and declared.documents_only)
		self.destructive = int(declared.destructive)
		self.untrusted_result = int(declared.untrusted_result if offered else self.types in EXTERNAL_RESULTS)
		self.sensitive_parameters = format_sensitive(declared.sensitive)

	def follow_code(self):
		"""Description and effect follow the code of an app's tool until somebody chooses others."""
		offered = self.offered()
		if offered and (not self.description or self.description == self.code_description):
			self.description = offered.description
		if offered and self.effect == self.code_effect:
			self.effect = offered.effect.value
		self.code_description = offered.description if offered else None
		self.code_effect = offered.effect.value if offered else None

	def set_definition(self):
		definition = {
			"name": self.tool_name,
			"description": build_description(self),
			"parameters": self.schema(),
		}
		self.function_definition = json.dumps(definition, indent=1, ensure_ascii=False)

	def schema(self) -> dict:
		if self.types == MCP_TOOL:
			connection = frappe.get_doc("MCP Server Connection", self.mcp_connection)
			if (row := find_chosen(connection, self.mcp_tool)) is None:
				frappe.throw(_("Choose the tool in its MCP Server Connection; that makes its record here."))
			return ToolDefinition.parse(row.definition).input_schema
		if self.operation:
			return self.parse_operation().schema
		if self.types in ("Custom Function", "App Provided") and not self.parameters:
			offered = self.offered()
			return offered.parameters if offered else build_schema(self.function())
		if self.types == "Custom Function":
			self.function()
		return build_parameters(self)

	def function(self):
		with throwing():
			return custom_functions.find_offered_function(self.function_path)

	def offered(self) -> registry.CodeTool | None:
		"""The app's own description of a tool it provides; None for other types."""
		if self.types != "App Provided":
			return None
		with throwing():
			return registry.find_code_tool(self.provider_app, self.function_path or self.tool_name)
