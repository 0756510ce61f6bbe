"""Tools and conversations for tests of the offline provider; schemas are those of Agent Tool Functions."""

import json
from datetime import date

from huf.ai.core.types import ModelReply
from huf.ai.providers.offline import plan
from huf.ai.providers.offline.tools import OfflineTool

TODAY = date(2026, 3, 4)  # a Wednesday


def tool(name, properties, required=(), type="", doctype="", effect="read", description="") -> OfflineTool:
	schema = {
		"type": "object",
		"properties": properties,
		"required": list(required),
		"additionalProperties": False,
	}
	return OfflineTool(name, description, schema, type, doctype, effect)


def text(description="") -> dict:
	return {"type": "string", "description": description}


def list_tool(name, doctype, fields) -> OfflineTool:
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
CUSTOMER = {
	"customer_name": text("Customer Name"),
	"customer_type": {
		"type": "string",
		"enum": ["", "Company", "Individual"],
		"description": "Customer Type",
	},
}
REPORT = {
	"region": {"type": "string", "examples": ["EMEA", "AMER", "ALL"]},
	"year": {"type": "integer", "description": "The year of the orders"},
}
NAME = {"name": text("The document's name (its ID)")}
CHANGE = {**NAME, "values": {"type": "object", "properties": TODO}}
WEATHER = "Current weather in a city. Asks a service."
TOOLS = [
	list_tool("list_users", "User", "name, email, full_name, enabled"),
	list_tool("list_todos", "ToDo", "name, status, priority, date, allocated_to, description"),
	tool("create_todo", TODO, ["description"], "Create Document", "ToDo", "write"),
	tool("update_todo", CHANGE, ["name", "values"], "Update Document", "ToDo", "write"),
	tool("delete_todo", NAME, ["name"], "Delete Document", "ToDo", "write"),
	tool("get_todo", NAME, ["name"], "Get Document", "ToDo"),
	tool("create_note", NOTE, ["title"], "Create Document", "Note", "write"),
	tool("create_customer", CUSTOMER, list(CUSTOMER), "Create Document", "Customer", "write"),
	tool("get_weather", {"city": text()}, ["city"], "Custom Function", description=WEATHER),
	tool("sales_report_tool", REPORT, (), "App Provided", description="Sales by region and year"),
	tool("refund_order", {"order": text()}, ["order"], "Custom Function", effect="write"),
]


def user(content: str) -> dict:
	return {"role": "user", "content": content}


def calls_of(reply: ModelReply) -> list[tuple[str, dict]]:
	return [(call.name, json.loads(call.arguments)) for call in reply.calls]


def respond(request: str, tools=None) -> ModelReply:
	return plan([user(request)], TOOLS if tools is None else tools, TODAY)


class Talk:
	"""A conversation whose tool results come from a table of values or functions of the arguments."""

	def __init__(self, results: dict | None = None):
		self.messages: list[dict] = []
		self.results = RESULTS | (results or {})
		self.called: list[tuple[str, dict]] = []

	def say(self, request: str) -> str:
		self.messages.append(user(request))
		while True:
			reply = plan(self.messages, TOOLS, TODAY)
			self.messages.append(reply.message)
			if not reply.calls:
				return reply.text
			[(name, arguments)] = calls_of(reply)
			self.called.append((name, arguments))
			result = self.results[name]
			content = json.dumps(result(arguments) if callable(result) else result)
			self.messages.append({"role": "tool", "tool_call_id": reply.calls[0].id, "content": content})


ANNA = {"name": "a1b2", "description": "<p>Call Anna</p>", "status": "Open", "date": "2026-03-05"}
MILK = {"name": "d4e5", "description": "Buy milk", "status": "Open"}
RESULTS = {
	"list_users": {"doctype": "User", "rows": [{"name": "Administrator"}, {"name": "Guest"}], "more": False},
	"list_todos": {"doctype": "ToDo", "rows": [ANNA, MILK], "count": 2, "more": False},
	"create_todo": lambda given: {"doctype": "ToDo", "name": "n3w", "status": "Open", **given},
	"update_todo": lambda given: {"doctype": "ToDo", **ANNA, "name": given["name"], **given["values"]},
	"delete_todo": lambda given: {"doctype": "ToDo", **given, "deleted": True},
	"get_todo": {"doctype": "ToDo", **ANNA, "owner": "Administrator"},
	"create_customer": lambda given: {"doctype": "Customer", "name": "Acme", **given},
	"get_weather": "Sunny, 20 °C",
}
