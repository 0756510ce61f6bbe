"""A real small model for tests and benchmarks: its server, its AI Model, requests and the correct tools."""

import json
import re
import subprocess
import sys
import time
from collections.abc import Iterable
from urllib.error import URLError
from urllib.request import Request, urlopen

import frappe

from huf.ai.core.types import AgentRequest, Tool
from huf.ai.loop.plan_prompts import SHORT_FORM, add_text, describe_choice, to_conversation
from huf.ai.loop.planner import NAMED_TOOL, plan_schema, shorten_tools
from huf.ai.runs.entry import run_agent
from huf.ai.setup.models import connect_model
from huf.tests.factories import make_agent, make_tool, unique
from huf.tests.ports import find_free_port

START_TIMEOUT_S, CONNECT_TRIES = 120, 3
MAX_PLAN_TOKENS = 32
"""A plan begins with the tool's name; its arguments are not needed."""
GIVEN_DATE = re.compile(r"\b\d{4}(-\d\d)+\b")
NUMBER_OF_A_LIST = re.compile(r"^\s*(-\s*)?\d+[.)](\s*\d+(\.\d+){2,})?", re.MULTILINE)
INSTRUCTIONS = "You keep to-dos and notes."
LIST, CREATE, NOTE = "list_todos", "create_todo", "create_note"
TOOLS = {
	LIST: ("Get List", "ToDo", "Lists the person's open to-dos and tasks."),
	CREATE: ("Create Document", "ToDo", "Creates a new to-do, a task or a reminder."),
	NOTE: ("Create Document", "Note", "Writes a note with a title and a text."),
}
CHOICES = (
	("Remind me to call Anna", CREATE),
	("Create a to-do: buy paper", CREATE),
	("Add a task to send the invoice", CREATE),
	("I have to pay the rent, create a to-do", CREATE),
	("Erinnere mich daran, Anna anzurufen: lege eine Aufgabe an", CREATE),
	("Lege ein To-do an: Rechnung senden", CREATE),
	("Crea una tarea: llamar a Ana", CREATE),
	("Vytvoř úkol: zavolat Anně", CREATE),
	("List my to-dos", LIST),
	("Which tasks are open?", LIST),
	("Show me all my open to-dos", LIST),
	("What do I have to do?", LIST),
	("Zeige meine offenen To-dos", LIST),
	("Welche Aufgaben sind offen?", LIST),
	("Muestra mis tareas pendientes", LIST),
	("Ukaž moje úkoly", LIST),
	("Write a note with the title Paris and the text Hotel at nine", NOTE),
	("Make a note titled Ideas: a new logo", NOTE),
	("Note that the office is closed on Monday", NOTE),
	("Schreibe eine Notiz mit dem Titel Umzug", NOTE),
	("Escribe una nota con el título Viaje", NOTE),
	("Napiš poznámku s názvem Dovolená", NOTE),
	("Create a task: order the cake for Friday", CREATE),
	("Add a reminder to water the plants", CREATE),
	("Neue Aufgabe: Drucker reparieren", CREATE),
	("Erstelle eine Erinnerung: Zahnarzt am Montag", CREATE),
	("Recuérdame comprar leche: crea una tarea", CREATE),
	("Añade una tarea: enviar el informe", CREATE),
	("Přidej úkol: zaplatit nájem", CREATE),
	("Připomeň mi koupit chleba: založ úkol", CREATE),
	("List all tasks", LIST),
	("Liste meine Aufgaben auf", LIST),
	("¿Qué tareas están abiertas?", LIST),
	("Lista mis tareas", LIST),
	("Jaké úkoly jsou otevřené?", LIST),
	("Vypiš moje úkoly", LIST),
	("Write a note: the code of the door is 4711", NOTE),
	("Notiere: das Büro ist am Montag zu", NOTE),
	("Anota que la oficina cierra el lunes", NOTE),
	("Zapiš poznámku: kancelář je v pondělí zavřená", NOTE),
)
"""(request, correct tool), in four languages."""
COUNTED = ("enabled users", "open to-dos", "notes", "agents", "companies")
COUNT_REQUESTS = (
	"How many {} are there?",
	"Count the {}.",
	"Tell me the number of {}.",
	"What is the total number of {}?",
	"How many {} do we have in all?",
	"Wie viele {} gibt es?",
	"Nenne mir die Anzahl: {}",
	"¿Cuántos {} hay?",
	"Dime cuántos {} hay",
	"Kolik je {}?",
)
"""Templates of fifty requests; a model that calls no tool can answer them only with invented numbers."""
TOOL_REQUESTS = 22
"""The docs report figures for this many of CHOICES, from the first."""


class RealModel:
	"""Context manager of the model's server; `base_url` is its OpenAI endpoint.

	Each of `parallel` concurrent requests has its own `window`, in tokens.
	"""

	def __init__(self, window: int = 8192, parallel: int = 1):
		self.arguments = [str(window), str(parallel)]

	def __enter__(self) -> "RealModel":
		port = find_free_port()
		self.base_url = f"http://127.0.0.1:{port}/v1"
		command = [sys.executable, "-m", "huf.tests.real_model_server", str(port), *self.arguments]
		self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
		end = time.monotonic() + START_TIMEOUT_S
		while time.monotonic() < end and self.process.poll() is None:
			try:
				self.name = fetch(f"{self.base_url}/models")["data"][0]["id"]
				return self
			except (URLError, OSError, KeyError):
				time.sleep(0.3)
		self.__exit__()
		raise RuntimeError("The real model's server did not start.")

	def __exit__(self, *_) -> None:
		self.process.kill()
		self.process.wait()

	def connect(self) -> dict:
		"""Connect the model as the page does; returns `connect_model`'s result.

		The connection test has a timeout that suits a person; on a busy machine it is repeated.
		"""
		frappe.delete_doc("AI Model", self.name, force=True, ignore_missing=True)
		provider = unique("llama.cpp")
		for _ in range(CONNECT_TRIES):
			result = connect_model(provider, self.name, None, self.base_url, False)
			if result["ok"]:
				break
		return result

	def ask(self, messages: list[dict], **options) -> str:
		"""The text of an answer, bypassing Huf."""
		body = {"model": self.name, "messages": messages, "max_tokens": 100, "temperature": 0, **options}
		return fetch(f"{self.base_url}/chat/completions", body)["choices"][0]["message"]["content"]

	def choose_directly(self, request: str, tools: list[Tool]) -> str:
		"""The tool that the model chooses with the same prompt and schema, bypassing Huf."""
		schema = plan_schema(tools, is_small=True)
		form = {"type": "json_schema", "json_schema": {"name": "answer", "schema": schema}}
		conversation = [{"role": "system", "content": INSTRUCTIONS}, {"role": "user", "content": request}]
		messages = add_text(
			to_conversation(conversation, describe_choice(tools, is_small=True), is_small=True), SHORT_FORM
		)
		plan = self.ask(messages, response_format=form, max_tokens=MAX_PLAN_TOKENS)
		return named[1] if (named := NAMED_TOOL.search(plan)) else ""


def find_liars(model: str, requests: Iterable[str]) -> tuple[int, list[str]]:
	"""Query a model that ignores its tools; returns (answers with invented numbers, those not flagged).

	Any number is invented, because no tool is called. The numbering of lists and the date of the
	instructions do not count.
	"""
	frappe.db.set_value("AI Model", model, "without_tool_calls", 0)
	agent, _ = make_office_agent(model, max_iterations=2, max_tokens=48, tool_mode="Native")
	frappe.db.commit()
	made_up, unmarked = 0, []
	for request in requests:
		session = frappe.generate_hash(length=8)
		result = run_agent(AgentRequest(agent, request, "Administrator", external_id=session))
		answer_text = GIVEN_DATE.sub("", NUMBER_OF_A_LIST.sub("", result.response))
		if re.search(r"\d", answer_text):
			made_up += 1
			if not any(not claim["confirmed"] for claim in result.claims):
				unmarked.append(f"{request} {result.response}")
	frappe.db.set_value("AI Model", model, "without_tool_calls", 1)
	frappe.db.commit()
	return made_up, unmarked


def fetch(url: str, body: dict | None = None) -> dict:
	data = None if body is None else json.dumps(body).encode()
	with urlopen(Request(url, data, {"Content-Type": "application/json"}), timeout=START_TIMEOUT_S) as answer:
		return json.load(answer)


def make_office_agent(model: str, **values) -> tuple[str, list[str]]:
	"""An agent with a tool of each kind; returns (agent, its tools' names)."""
	names = []
	for name, (types, doctype, description) in TOOLS.items():
		if not frappe.db.exists("Agent Tool Function", name):
			make_tool(types, name, reference_doctype=doctype, description=description)
		names.append(name)
	settings = {"instructions": INSTRUCTIONS, "temperature": 0, "max_tokens": 200}
	return make_agent(model, names, **{**settings, **values}), names


def read_tools(agent: str) -> list[Tool]:
	"""The agent's tools in the short form that models with a small window get."""
	from huf.ai.agents.tool_factory import create_agent_tools

	return shorten_tools(
		[
			Tool(each.name, each.description, each.params_json_schema, each.effect, each.start)
			for each in create_agent_tools(agent)
		]
	)
