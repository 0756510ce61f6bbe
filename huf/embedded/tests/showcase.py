"""A running Huf with sample records, and a table of its pages for checks that apply to all of them."""

import json
import shutil
import subprocess
import tempfile
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from huf.embedded.tests.browser import follow, read_boot
from huf.embedded.tests.pages import PASSWORD, start_server
from huf.embedded.tests.server_test import PYTHON, Server
from huf.tests.agent_exports import make_workflow
from huf.tests.model_answers import Answer, call, text, tool_calls
from huf.tests.model_server import ModelServer

AGENT = "Office Assistant"


@dataclass(frozen=True)
class PageOf:
	"""`address` has placeholders such as {run} for names of records; `ready` is the test id of an element that
	appears when the page has loaded and `prepare` has run.
	"""

	name: str
	address: str
	ready: str
	prepare: Callable[[Any], None] | None = None


def press(test_id: str) -> Callable[[Any], None]:
	return lambda page: page.get_by_test_id(test_id).first.click()


def wait_for_colours(page) -> None:
	"""Code is rendered again once the highlighter has loaded."""
	page.locator("pre code span").first.wait_for()


def choose_export(page) -> None:
	upload = {"name": "orders.json", "mimeType": "text/plain", "buffer": json.dumps(make_workflow()).encode()}
	page.get_by_test_id("agents-file").set_input_files(upload)


def set_up_sign_in(page) -> None:
	page.get_by_test_id("new-mailbox").click()
	page.get_by_test_id("preset-Microsoft 365").click()
	page.get_by_test_id("make-app").click()


PAGES = (
	PageOf("home", "/huf", "charts"),
	PageOf("new-chat", "/huf/chat?agent=Office%20Assistant", "starter"),
	PageOf("chat", "/huf/chat/{conversation}", "run-footer", wait_for_colours),
	PageOf("diagram", "/huf/chat/{diagram}", "diagram"),
	PageOf("drafts", "/huf/drafts/{draft}", "draft"),
	PageOf("runs", "/huf/runs", "run-item"),
	PageOf("costs", "/huf/costs", "costs"),
	PageOf("run", "/huf/runs/{run}", "timeline", wait_for_colours),
	PageOf("undo", "/huf/runs/{changed}", "undo-apply", press("undo")),
	PageOf("compare", "/huf/runs/{run}/compare/{other}", "comparison"),
	PageOf("triggers", "/huf/triggers", "trigger-item"),
	PageOf("new-trigger", "/huf/new-trigger?type=Schedule", "trigger-form"),
	PageOf("trigger", "/huf/triggers/{trigger}", "trigger-events"),
	PageOf("mails", "/huf/mail", "mail-item"),
	PageOf("mail-rules", "/huf/mail?view=rules", "rule-item"),
	PageOf("mailboxes", "/huf/mail?view=mailboxes", "mailbox-item"),
	PageOf("mail-oauth", "/huf/mail?view=mailboxes", "redirect-uri", set_up_sign_in),
	PageOf("mail", "/huf/mail/{mail}", "mail-events"),
	PageOf("agents", "/huf/agents", "agent-item"),
	PageOf("agent", "/huf/agents/Office%20Assistant", "agent-tool"),
	PageOf("agent-versions", "/huf/agents/Office%20Assistant?view=versions", "version"),
	PageOf("agent-evals", "/huf/agents/Office%20Assistant?view=evals", "evals"),
	PageOf("new-agent", "/huf/new-agent", "tool-choices"),
	PageOf("import-agents", "/huf/import-agents", "imported-agent", choose_export),
	PageOf("tools", "/huf/tools", "tool-item"),
	PageOf("tool", "/huf/tools/create_todo", "try-tool"),
	PageOf("import-tools", "/huf/import-tools", "openapi-form"),
	PageOf("models", "/huf/models", "model-item"),
	PageOf("model", "/huf/models/house-large", "record-form"),
	PageOf("doctypes", "/huf/records", "doctype"),
	PageOf("records", "/huf/records/ToDo", "record-item"),
	PageOf("record", "/huf/new-record/ToDo", "record-form"),
	PageOf(
		"connection", "/huf/records/MCP%20Server%20Connection/Notes", "mcp-check-result", press("mcp-check")
	),
	PageOf("programs", "/huf/programs", "programs"),
	PageOf("people", "/huf/people?person=eva@office.example", "usable-agents"),
	PageOf("profile", "/huf/profile", "profile"),
	PageOf("help", "/huf/help/approvals", "help-page"),
	PageOf("settings", "/huf/settings", "record-form"),
	PageOf("knowledge", "/huf/knowledge", "sources-empty"),
	PageOf("packs", "/huf/packs", "pack"),
	PageOf("missing", "/huf/nowhere", "missing"),
)

REPORT = """Three to-dos are open, and one of them is **late**:

| To-do | Priority | Due |
|---|---|---|
| Send the offer to Meier & Sons | High | Monday |
| Order toner for the office | Medium | Wednesday |
| Call Anna about the invoice | Low | Friday |

The late one could be found with this filter:

```python
frappe.get_list("ToDo", filters={"status": "Open", "date": ["<", today()]})
```

1. The offer waits for prices, which came in this morning.
2. Shall I move *Order toner* to somebody else?
"""

DIAGRAM = """An order goes through these steps:

```mermaid
flowchart LR
  order[Order] --> check{In stock?}
  check -- yes --> ship[Ship it]
  check -- no --> buy[Order from the supplier] --> ship
```
"""

IS_STILL = """async () => {
	const main = document.querySelector("main");
	const before = main.innerHTML;
	await new Promise((resolve) => setTimeout(resolve, 500));
	return main.innerHTML === before;
}"""
"""For half a second, which is what Playwright waits for requests after a page is loaded."""


class Rest:
	"""REST calls of a signed-in user."""

	def __init__(self, server: Server, password: str = PASSWORD, user: str = "Administrator"):
		self.url = server.url
		answer = server.call("/api/method/login", {"usr": user, "pwd": password})
		self.cookie = answer.headers["Set-Cookie"].split(";")[0]
		page = server.call("/huf", cookie=self.cookie).read().decode()
		self.token = read_boot(page)["csrf_token"]

	def call(self, path: str, data: dict | None = None, method: str | None = None):
		headers = {
			"Cookie": self.cookie,
			"X-Frappe-CSRF-Token": self.token,
			"Content-Type": "application/json",
		}
		body = None if data is None else json.dumps(data).encode()
		request = urllib.request.Request(self.url + path, body, headers, method=method)
		try:
			return json.load(urllib.request.urlopen(request, timeout=30))
		except urllib.error.HTTPError as error:
			raise AssertionError(f"{path}: {error} {error.read().decode()[-600:]}") from None

	def method(self, name: str, **values):
		return self.call(f"/api/method/{name}", values).get("message")

	def make(self, doctype: str, **values) -> dict:
		return self.call(f"/api/resource/{quote(doctype)}", values)["data"]

	def change(self, doctype: str, name: str, **values) -> dict:
		return self.call(f"/api/resource/{quote(doctype)}/{quote(name)}", values, "PUT")["data"]

	def names(self, doctype: str) -> list[str]:
		return [
			row["name"] for row in self.call(f"/api/resource/{quote(doctype)}?limit_page_length=0")["data"]
		]

	def sign_in(self, page) -> None:
		name, value = self.cookie.split("=", 1)
		page.context.add_cookies([{"name": name, "value": value, "url": self.url}])


@dataclass(frozen=True)
class Showcase:
	"""`names` fills the placeholders of PAGES; `home` is the folder of the site."""

	server: Server
	rest: Rest
	model: ModelServer
	names: dict[str, str]
	home: Path

	def address_of(self, page: PageOf) -> str:
		return page.address.format_map({key: quote(name) for key, name in self.names.items()})

	def open(self, page, one: PageOf) -> None:
		page.goto(self.address_of(one))
		self.prepare(page, one)
		page.wait_for_load_state("networkidle")

	def visit(self, page, one: PageOf) -> None:
		"""Like `open` from another page of the app, which is not loaded again."""
		follow(page, self.address_of(one))
		self.prepare(page, one)
		page.wait_for_function(IS_STILL)

	def prepare(self, page, one: PageOf) -> None:
		if one.prepare:
			one.prepare(page)
		page.get_by_test_id(one.ready).first.wait_for()


@contextmanager
def open_showcase() -> Iterator[Showcase]:
	"""A fresh site with agents, conversations, runs, a draft, a trigger and a mail; deleted afterwards."""
	home = Path(tempfile.mkdtemp(prefix="huf-test-"))
	try:
		with start_server(home) as server, ModelServer(strict=False) as model:
			model.forever(answer_like_a_model)
			rest = Rest(server)
			yield Showcase(server, rest, model, fill(rest, model, home), home)
	finally:
		shutil.rmtree(home, ignore_errors=True)


def answer_like_a_model(request: dict) -> Answer:
	"""Answer by keywords in the last user message: one round of tool calls, then text."""
	messages = request["messages"]
	last = max(index for index, each in enumerate(messages) if each["role"] == "user")
	prompt = str(messages[last]["content"])
	is_done = any(each["role"] == "tool" for each in messages[last:])
	if "Friday" in prompt and not is_done:
		reply = {"to": "anna@customer.example", "subject": "Re: An appointment", "body": "Yes, at nine."}
		return tool_calls([call("send_reply", reply)])
	if "diagram" in prompt:
		return text(DIAGRAM)
	if "priority" in prompt and not is_done:
		return tool_calls(
			[call("raise_todo", {"name": find_todo_name(prompt), "values": {"priority": "High"}})]
		)
	if "open" in prompt and not is_done:
		return tool_calls([call("list_todos", {"filters": {"status": "Open"}})], "I look at what is open.")
	return text(REPORT if "open" in prompt else "It is done.")


def find_todo_name(prompt: str) -> str:
	return prompt.split("to-do ")[1].split()[0].rstrip(".,")


def fill(rest: Rest, model: ModelServer, home: Path) -> dict[str, str]:
	rest.change("User", "Administrator", first_name="Clara", last_name="Novak")
	for first_name, role in (("Anna", "Huf Manager"), ("Eva", "Huf User"), ("Jan", "Huf User")):
		email = f"{first_name.lower()}@office.example"
		rest.make("User", email=email, first_name=first_name, send_welcome_email=0, roles=[{"role": role}])
	todo = [
		rest.make("ToDo", description=words, priority=priority)["name"]
		for words, priority in (
			("Send the offer to Meier & Sons", "High"),
			("Order toner for the office", "Medium"),
			("Call Anna about the invoice", "Low"),
		)
	][-1]
	rest.make("AI Provider", provide_name="House Models", api_key="sk-test", api_base=model.base_url)
	rest.make("AI Model", model_name="house-large", provider="House Models")
	rest.make(
		"Agent Tool Function",
		tool_name="raise_todo",
		types="Update Document",
		reference_doctype="ToDo",
		description="Change a to-do",
		requires_approval=1,
	)
	tools = ["list_todos", "list_users", "create_todo", "raise_todo", "send_reply"]
	rest.make(
		"Agent",
		agent_name="Front Desk",
		description="Knows what is open, and writes to customers.",
		model="house-large",
		instructions="Answer with figures.",
		agent_tool=[{"tool": tool} for tool in tools],
	)
	first = ask(rest, "Front Desk", "What is still open this week?")
	other = ask(rest, AGENT, "How many users are there?")
	diagram = ask(rest, "Front Desk", "Draw a diagram of an order.")
	changed = rest.method(
		"huf.ai.agent_integration.run_agent_sync",
		agent_name=AGENT,
		prompt="Create a todo to call Anna tomorrow",
	)
	# Nothing listens on this port: the check shows which step fails and what to do.
	rest.make(
		"MCP Server Connection",
		connection_name="Notes",
		name_prefix="notes_",
		url="http://127.0.0.1:9/mcp",
		allow_private_hosts=1,
	)
	waiting = ask(rest, "Front Desk", f"Give the to-do {todo} the highest priority.")
	rest.make(
		"Agent Trigger",
		trigger_name="Every morning",
		agent=AGENT,
		trigger_type="Schedule",
		cron="0 7 * * 1-5",
		run_as="Administrator",
		prompt="List my open todos",
	)
	for prompt, tool in (("How many users are there?", "list_users"), ("List my open todos", "create_todo")):
		case = {"case_name": prompt, "prompt": prompt, "definition": f"expect:\n- calls: {tool}\n"}
		rest.make("Agent Eval Case", agent=AGENT, **case)
	rest.method("huf.api.eval.run", agent=AGENT)
	return {
		"conversation": first["conversation"],
		"run": first["run"],
		"other": other["run"],
		"diagram": diagram["conversation"],
		"changed": changed["run"],
		"draft": waiting["draft"]["draft"],
		"trigger": "Every morning",
		"mail": fill_mail(rest, home),
	}


def ask(rest: Rest, agent: str, prompt: str) -> dict:
	return rest.method("huf.ai.agent_chat.send_agent_chat_message", agent=agent, prompt=prompt)


def fill_mail(rest: Rest, home: Path) -> str:
	rest.make(
		"Agent Mailbox",
		mailbox_name="Office",
		email="office@office.example",
		run_as="Administrator",
		enabled=0,
	)
	rest.make(
		"Agent Route Rule",
		rule_name="Customers",
		sender_domain="customer.example",
		route="agent",
		profile="Front Desk",
	)
	letter = home / "letter.eml"
	letter.write_text(
		"From: Anna Berg <anna@customer.example>\nTo: office@office.example\nSubject: An appointment\n"
		"Message-ID: <1@customer.example>\n\nCan I come on Friday?\n"
	)
	command = [*PYTHON, "--home", str(home), "mail", str(letter)]
	subprocess.run(command, check=True, capture_output=True, timeout=120)
	app = rest.method("huf.api.mail.make_sign_in_app", provider="Microsoft 365")["name"]
	rest.make(
		"Agent Mailbox",
		mailbox_name="Orders",
		email="orders@office.example",
		run_as="Administrator",
		enabled=0,
		auth_method="OAuth",
		connected_app=app,
	)
	# The incoming mail, not the reply drafted to it.
	return rest.call('/api/resource/Agent%20Mail?filters={"direction":"Incoming"}')["data"][0]["name"]
