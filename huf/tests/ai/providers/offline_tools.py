"""Tools and conversations for the tests of the offline planner: specs as Agent Tool Function rows give them."""

import json
from datetime import date

from huf.ai.providers.offline import plan

TODAY = date(2026, 3, 4)  # a Wednesday


def tool(name, properties, required=(), type="", doctype="", effect="read", description="") -> dict:
	schema = {
		"type": "object",
		"properties": properties,
		"required": list(required),
		"additionalProperties": False,
	}
	extra = {"x-huf": {"type": type, "doctype": doctype, "effect": effect}} if type else {}
	function = {"name": name, "description": description, "parameters": schema, **extra}
	return {"type": "function", "function": function}


def text(description="") -> dict:
	return {"type": "string", "description": description}


def list_tool(name, doctype, fields) -> dict:
	properties = {
		"filters": {"type": ["object", "array"]},
		"fields": {"type": "array", "items": {"type": "string"}, "description": f"Of: {fields}"},
		"order_by": text(),
		"limit": {"type": "integer", "minimum": 1, "maximum": 500},
	}
	return tool(name, properties, (), "Get List", doctype)


TODO = {
	"status": {"type": "string", "description": "Status", "enum": ["Open", "Closed", "Cancelled"]},
	"priority": {"type": "string", "description": "Priority", "enum": ["High", "Medium", "Low"]},
	"date": text("Due Date: a date, YYYY-MM-DD"),
	"allocated_to": text("Allocated To: name of a User"),
	"description": text("Description"),
	"reference_name": text("Reference Name"),
}
NOTE = {
	"title": text("Title"),
	"public": {"type": "integer", "enum": [0, 1], "description": "Public"},
	"content": text("Content"),
}
NAME = {"name": text("The document's name")}
TOOLS = [
	list_tool("list_users", "User", "name, email, full_name, enabled, owner, creation, modified"),
	list_tool("list_todos", "ToDo", "name, status, priority, date, allocated_to, description, modified"),
	tool("create_todo", TODO, ["description"], "Create Document", "ToDo", "write"),
	tool(
		"update_todo",
		{**NAME, "values": {"type": "object", "properties": TODO}},
		["name", "values"],
		"Update Document",
		"ToDo",
		"write",
	),
	tool("delete_todo", NAME, ["name"], "Delete Document", "ToDo", "write"),
	tool("get_todo", NAME, ["name"], "Get Document", "ToDo"),
	tool("get_user_value", {**NAME, "fieldname": text()}, ["fieldname"], "Get Value", "User"),
	tool("create_note", NOTE, ["title"], "Create Document", "Note", "write"),
	tool(
		"get_weather",
		{"city": text()},
		["city"],
		"Custom Function",
		effect="read",
		description="Current weather in a city",
	),
	tool(
		"send_email",
		{"to": text(), "subject": text(), "body": text()},
		["to", "subject"],
		"Custom Function",
		effect="external",
	),
]
CUSTOMER = {
	"customer_name": text("Customer Name"),
	"customer_type": {
		"type": "string",
		"enum": ["Company", "Individual"],
		"description": "Customer Type",
	},
	"email_id": text("Email"),
}
OFFICE = [
	list_tool("list_sales_invoices", "Sales Invoice", "name, customer, status"),
	list_tool("list_purchase_invoices", "Purchase Invoice", "name, supplier, status"),
	tool("cancel_sales_invoice", NAME, ["name"], "Cancel Document", "Sales Invoice", "write"),
	tool("submit_sales_invoice", NAME, ["name"], "Submit Document", "Sales Invoice", "write"),
	tool(
		"create_customer",
		CUSTOMER,
		["customer_name", "customer_type"],
		"Create Document",
		"Customer",
		"write",
	),
	tool(
		"delete_notes",
		{"names": {"type": "array", "items": {"type": "string"}}},
		["names"],
		"Delete Multiple Documents",
		"Note",
		"write",
	),
	tool(
		"set_todo_field",
		{**NAME, "fieldname": text(), "value": {"type": ["string", "number"]}},
		["name", "fieldname", "value"],
		"Set Value",
		"ToDo",
		"write",
	),
	tool("sales_report", {"filters": {"type": "object"}}, (), "Get Report Result"),
	tool("ask_researcher", {"prompt": text()}, ["prompt"], "Run Agent", effect="external"),
	tool("refund_order", {"order": text()}, ["order"], "Custom Function", effect="write"),
	tool("delete_old_logs", {"days": {"type": "integer"}}, ["days"], "Custom Function", effect="write"),
	tool("count_leads", {}, (), "Custom Function"),
	tool("transcribe", {"file_url": text()}, ["file_url"], "Speech to Text", effect="external"),
]


def user(content: str) -> dict:
	return {"role": "user", "content": content}


def calls_of(message: dict) -> list[tuple[str, dict]]:
	made = [call["function"] for call in message["tool_calls"]]
	return [(function["name"], json.loads(function["arguments"])) for function in made]


def ask(request: str, tools=None) -> dict:
	return plan([user(request)], TOOLS if tools is None else tools, today=TODAY)


class Talk:
	"""A conversation whose tools answer from a table: a value, or a function of the arguments."""

	def __init__(self, results: dict, tools=None):
		self.messages: list[dict] = []
		self.results, self.tools = results, tools or TOOLS
		self.called: list[tuple[str, dict]] = []

	def say(self, request: str) -> str:
		self.messages.append(user(request))
		while True:
			message = plan(self.messages, self.tools, today=TODAY)
			self.messages.append(message)
			if not message["tool_calls"]:
				return message["content"]
			for call, (name, arguments) in zip(message["tool_calls"], calls_of(message), strict=True):
				self.called.append((name, arguments))
				result = self.results[name]
				content = json.dumps(result(arguments) if callable(result) else result)
				self.messages.append({"role": "tool", "tool_call_id": call["id"], "content": content})


ANNA = {"name": "a1b2c3", "description": "<p>Call Anna</p>", "status": "Open", "date": "2026-03-05"}
MILK = {"name": "d4e5f6", "description": "Buy milk", "status": "Open"}
RESULTS = {
	"list_users": {
		"doctype": "User",
		"rows": [{"name": "Administrator"}, {"name": "Guest"}],
		"count": 2,
		"more": False,
	},
	"list_todos": {"doctype": "ToDo", "rows": [ANNA, MILK], "count": 2, "more": False},
	"create_todo": lambda given: {"doctype": "ToDo", "name": "n3w", "status": "Open", **given},
	"update_todo": lambda given: {"doctype": "ToDo", **ANNA, "name": given["name"], **given["values"]},
	"delete_todo": lambda given: {"doctype": "ToDo", **given, "deleted": True},
	"get_todo": {"doctype": "ToDo", **ANNA, "owner": "Administrator"},
	"get_user_value": {"name": "Administrator", "email": "admin@example.com"},
	"get_weather": "Sunny, 20 °C",
}
