"""Makes HTTP tools from chosen operations of an OpenAPI document; a list of them comes first."""

from collections.abc import Collection, Mapping
from typing import Any

import frappe
from frappe import _

from huf.ai.core.documents import get_or_new
from huf.ai.core.errors import UsageError
from huf.ai.core.types import Effect
from huf.ai.setup.openapi_document import digest_document
from huf.ai.setup.openapi_operations import PlannedTool, plan_tools
from huf.ai.tools.http import origin_of
from huf.ai.tools.operations import Operation

TOOL = "Agent Tool Function"
MAX_IMPORTED = 100


def preview_import(
	document: Mapping, source: str = "", base_url: str = "", prefix: str = ""
) -> dict[str, Any]:
	"""What an import would make; changes nothing.

	Returns {title, digest, tools: [{operation, tool, description, effect, requires_approval, base_url,
	headers, left_out, exists}], refused: [{operation, reason}]}.
	"""
	plans, refused = plan_tools(document, source, base_url, prefix)
	names = [plan.tool for plan in plans]
	existing = set(frappe.get_all(TOOL, {"name": ["in", names]}, pluck="name", order_by="name asc"))
	tools = [{**describe_plan(plan), "exists": plan.tool in existing} for plan in plans]
	info = document.get("info")
	title = str(info.get("title") or "")[:140] if isinstance(info, Mapping) else ""
	return {"title": title, "digest": digest_document(document), "tools": tools, "refused": refused}


def describe_plan(plan: PlannedTool) -> dict[str, Any]:
	return {
		"operation": plan.key,
		"tool": plan.tool,
		"description": plan.description,
		"effect": plan.effect.value,
		"requires_approval": plan.effect is not Effect.READ,
		"base_url": plan.base_url,
		"headers": list(plan.headers),
		"left_out": list(plan.left_out),
	}


def import_tools(
	document: Mapping,
	chosen: Collection[str],
	*,
	source: str = "",
	base_url: str = "",
	prefix: str = "",
	digest: str | None = None,
	headers: Mapping[str, str] | None = None,
	replace: Collection[str] = (),
	allow_private: bool = False,
) -> list[dict[str, Any]]:
	"""Make the tools of chosen operations, all or none: [{operation, tool, replaced, missing_headers}].

	Args:
		chosen: operations as "METHOD /path"
		digest: of the preview, to refuse a document that has changed since
		headers: credentials, kept in the tools as Passwords
		replace: names of existing tools that may be overwritten

	Raises UsageError with the reason, PermissionError.
	"""
	if digest and digest != digest_document(document):
		raise UsageError(_("The document has changed since it was listed. List it again."))
	plans = choose_plans(plan_tools(document, source, base_url, prefix)[0], chosen)
	check_existing(plans, replace)
	if headers and len({origin_of(plan.base_url) for plan in plans}) > 1:
		raise UsageError(
			_("The operations are on several servers, and the headers are for one. Import them one by one.")
		)
	return [save_tool(plan, headers or {}, allow_private) for plan in plans]


def choose_plans(plans: list[PlannedTool], chosen: Collection[str]) -> list[PlannedTool]:
	found = [plan for plan in plans if plan.key in chosen]
	if unknown := sorted(set(chosen) - {plan.key for plan in found}):
		raise UsageError(
			_("These operations cannot be imported: {0}. List the document's operations to see why.").format(
				", ".join(unknown)
			)
		)
	if not 0 < len(found) <= MAX_IMPORTED:
		raise UsageError(_("Choose between 1 and {0} operations.").format(MAX_IMPORTED))
	return found


def check_existing(plans: list[PlannedTool], replace: Collection[str]) -> None:
	"""Nothing is overwritten without being named, and only tools of an earlier import."""
	for plan in plans:
		stored = frappe.db.get_value(TOOL, plan.tool, ["name", "operation"], as_dict=True)
		if stored and plan.tool not in replace:
			raise UsageError(
				_("The tool {0} exists. Name it among those to replace, or choose a prefix.").format(
					plan.tool
				)
			)
		if stored and not stored.operation:
			raise UsageError(
				_("The tool {0} was not imported, so it is not replaced. Choose a prefix.").format(plan.tool)
			)


def save_tool(plan: PlannedTool, headers: Mapping[str, str], allow_private: bool) -> dict[str, Any]:
	"""A replaced tool keeps its roles, its headers, and the effect and approval that people chose for this
	operation.
	"""
	doc = get_or_new(TOOL, plan.tool)
	is_new = not doc.name
	if is_new or not calls_same(doc, plan):
		doc.effect, doc.requires_approval = plan.effect.value, int(plan.effect is not Effect.READ)
	doc.update(
		{
			"tool_name": plan.tool,
			"types": plan.operation.tool_type,
			"description": plan.description,
			"base_url": plan.base_url,
			"operation": plan.operation.as_json(),
			"allow_private_hosts": int(allow_private or bool(doc.allow_private_hosts)),
		}
	)
	if headers:
		doc.set("headers", [{"header": name, "value": value} for name, value in headers.items()])
	doc.save()
	known = {row.header.lower() for row in doc.headers}
	missing = [name for name in plan.headers if name.lower() not in known]
	return {"operation": plan.key, "tool": doc.name, "replaced": not is_new, "missing_headers": missing}


def calls_same(doc: Any, plan: PlannedTool) -> bool:
	"""Whether a stored tool calls the plan's operation of the same server. An operationId proves nothing."""
	stored = Operation.parse(doc.operation)
	before = origin_of(doc.base_url), stored.method, stored.path
	return before == (origin_of(plan.base_url), plan.operation.method, plan.operation.path)
