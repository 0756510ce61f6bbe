"""Attacks over HTTP on a site, in the name of a guest, a user without roles, two Huf Users and a Huf Manager.

Runs in `test_attacks.py` and, on a served site that is only for tests, as a script:

	HUF_BENCH_URL=http://127.0.0.1:8000 HUF_BENCH_USER=Administrator HUF_BENCH_PASSWORD=... \
		python -m huf.tests.security.attacks
"""

import ast
import json
import os
import random
import re
import secrets
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

HUF = Path(__file__).resolve().parents[2]
ATTEMPTS = 200
SYSTEM_FIELDS = ("owner", "modified_by", "creation", "docstatus", "idx", "parent", "parenttype", "_user_tags")
PERSONAL = ("ToDo", "File", "Agent Run", "Agent Conversation", "Agent Message", "Agent LLM Call")
"""DocTypes in which the victim owns a document."""
Send = Callable[[str, str, str | None, Any], tuple[int, str]]
"""(method, path, credentials, JSON body or None) -> (status, text)."""


@dataclass
class Attacks:
	"""The people, the victim's documents, and what came of the attempts."""

	send: Send
	admin: str
	marker: str = field(default_factory=lambda: f"secret{secrets.token_hex(8)}")
	allows_faults_of_frappe: bool = True
	counts: Counter = field(default_factory=Counter)
	failures: list[str] = field(default_factory=list)
	people: dict[str, str | None] = field(default_factory=dict)
	emails: dict[str, str] = field(default_factory=dict)
	documents: dict[str, str] = field(default_factory=dict)
	file_url: str = ""
	agent: str = ""

	def run(self) -> None:
		self.prepare()
		for attack in (self.attack_endpoints, self.attack_fields, self.attack_values):
			attack()
		self.check_victim()

	# --- preparation, as Administrator and as the victim ---

	def prepare(self) -> None:
		roles = {"plain": [], "other": ["Huf User"], "victim": ["Huf User"], "manager": ["Huf Manager"]}
		self.people = {"guest": None, **{name: self.add_person(name, each) for name, each in roles.items()}}
		base = f"attack-{secrets.token_hex(4)}"
		# Nobody listens there: the run fails, and its conversation stays.
		provider = {"provide_name": base, "api_base": "http://127.0.0.1:9/v1", "is_local": 1}
		self.make("AI Provider", self.admin, **provider)
		model = self.make("AI Model", self.admin, model_name=base, provider=base)["name"]
		agent = {"agent_name": base, "model": model, "allow_chat": 1, "instructions": "Answer."}
		self.agent = self.make("Agent", self.admin, **agent)["name"]
		victim = self.people["victim"]
		# Frappe lets a user make a to-do only for themselves or in their own name.
		todo = {"description": self.marker, "allocated_to": self.emails["victim"]}
		self.documents["ToDo"] = self.make("ToDo", victim, **todo)["name"]
		file = {"file_name": f"{base}.txt", "content": self.marker, "is_private": 1}
		made = self.make("File", victim, **file)
		self.documents["File"], self.file_url = made["name"], made["file_url"]
		values = {"agent_name": self.agent, "prompt": self.marker}
		status, text = self.send("POST", "/api/method/huf.ai.runs.entry.run_agent_sync", victim, values)
		assert status == 200, text
		result = json.loads(text)["message"]
		self.documents |= {"Agent Run": result["run"], "Agent Conversation": result["conversation"]}
		for doctype in ("Agent Message", "Agent LLM Call"):
			query = urlencode({"filters": json.dumps({"run": result["run"]})})
			rows = self.data("GET", f"/api/resource/{quote(doctype)}?{query}", self.admin)
			self.documents[doctype] = rows[0]["name"]

	def add_person(self, name: str, roles: list[str]) -> str:
		email, secret = f"{name}-{secrets.token_hex(4)}@example.com", secrets.token_hex(12)
		self.emails[name] = email
		values = {"email": email, "first_name": name.title(), "send_welcome_email": 0}
		self.make("User", self.admin, **values, roles=[{"role": role} for role in roles])
		keys = {"api_key": secrets.token_hex(8), "api_secret": secret}
		self.data("PUT", f"/api/resource/User/{email}", self.admin, keys)
		return f"{keys['api_key']}:{secret}"

	def make(self, doctype: str, person: str | None, **values) -> dict:
		return self.data("POST", f"/api/resource/{quote(doctype)}", person, values)

	def data(self, method: str, path: str, person: str | None, body: Any = None) -> Any:
		status, text = self.send(method, path, person, body)
		assert status == 200, f"{method} {path}: {status} {text[:500]}"
		return json.loads(text)["data"]

	# --- attacks ---

	def attempt(self, kind: str, who: str, method: str, path: str, body: Any = None) -> tuple[int, str]:
		"""Send a request that must not show the victim's secret, nor break the server."""
		status, text = self.send(method, path, self.people[who], body)
		self.counts[f"{kind}: {status // 100}xx"] += 1
		if who != "manager" and self.marker in text and self.marker not in path + json.dumps(body):
			self.failures.append(f"{who} {method} {path} {body}: shows the secret")
		# Frappe answers 500 where an argument is missing, and where no query can be made of a filter.
		is_of_frappe = "/huf." not in path or re.search(
			r"missing \d+ required|\"exc_type\": ?\"TypeError\"", text
		)
		if status >= 500 and not (is_of_frappe and self.allows_faults_of_frappe):
			self.failures.append(f"{who} {method} {path} {body}: {status} {text[:200]}")
		return status, text

	def attack_endpoints(self) -> None:
		"""Every endpoint, without arguments and with the victim's documents."""
		for endpoint in list_endpoints():
			path = f"/api/method/{endpoint.path}"
			filled = {name: self.guess(name) for name in endpoint.parameters}
			for who in ("guest", "plain", "other", "manager"):
				method = "GET" if "GET" in endpoint.methods else "POST"
				for values in ({},) if who == "manager" else ({}, filled):
					query = f"?{urlencode(values)}" if method == "GET" else ""
					status, text = self.attempt("endpoints", who, method, path + query, values)
					if who == "guest" and status == 200 and not endpoint.allow_guest:
						self.failures.append(f"guest {method} {path}: {text[:200]}")

	def guess(self, parameter: str) -> str:
		"""A value for a parameter, by its name: a document of the victim where one fits."""
		known = {
			"run": "Agent Run", "left": "Agent Run", "right": "Agent Run", "conversation": "Agent Conversation",
			"conversation_id": "Agent Conversation", "thread": "Agent Conversation", "message": "Agent Message",
			"file": "File", "call": "Agent LLM Call",
		}  # fmt: skip
		others = {
			"agent": self.agent,
			"doctype": "ToDo",
			"name": self.documents["ToDo"],
			"file_url": self.file_url,
		}
		others |= {"attachments": json.dumps([self.file_url]), "agent_name": self.agent, "prompt": "Hi"}
		return self.documents[known[parameter]] if parameter in known else others.get(parameter, "1")

	def attack_fields(self) -> None:
		"""Every field of every DocType, changed in a document of somebody else."""
		for doctype, fields in list_fields():
			self.attack_creation(doctype, fields)
			name = self.documents.get(doctype) or self.find_any(doctype)
			if not name:
				continue
			path = f"/api/resource/{quote(doctype)}/{quote(name, safe='')}"
			_status, before = self.send("GET", path, self.admin, None)
			values = dict.fromkeys((*fields, *SYSTEM_FIELDS), "1")
			for who, each in (
				("guest", values),
				("plain", values),
				*(("other", {fieldname: "1"}) for fieldname in values),
			):
				status, _text = self.attempt("fields", who, "PUT", path, each)
				if status == 200:
					self.failures.append(f"{who} PUT {path} {each}: 200")
			for who in ("guest", "plain", "other"):
				if self.attempt("fields", who, "DELETE", path)[0] in (200, 202):
					self.failures.append(f"{who} DELETE {path}: deleted")
			if self.send("GET", path, self.admin, None)[1] != before:
				self.failures.append(f"{path} has changed")

	def attack_creation(self, doctype: str, fields: list[str]) -> None:
		"""Every field of a document of one's own, where only managers make such documents."""
		if doctype in ("ToDo", "File"):
			return
		path, system = f"/api/resource/{quote(doctype)}", dict.fromkeys(SYSTEM_FIELDS, "1")
		attempts = [(who, dict.fromkeys(fields, "1")) for who in ("guest", "plain", "other")]
		for who, values in [*attempts, *(("other", {fieldname: "1"}) for fieldname in fields)]:
			values = {**system, **values, "name": secrets.token_hex(4)}
			if self.attempt("creation", who, "POST", path, values)[0] == 200:
				self.failures.append(f"{who} POST {path} {values}: created")

	def names_victim(self, text: str) -> bool:
		return any(str(each) in text for each in (*self.documents.values(), self.file_url))

	def find_any(self, doctype: str) -> str | None:
		status, text = self.send(
			"GET", f"/api/resource/{quote(doctype)}?limit_page_length=1", self.admin, None
		)
		rows = json.loads(text).get("data") if status == 200 else None
		return str(rows[0]["name"]) if rows else None

	def attack_values(self) -> None:
		"""Generated look-ups of the victim's files, names and texts."""
		choose = random.Random(7)
		for _ in range(ATTEMPTS):
			who = choose.choice(("guest", "plain", "other"))
			path = choose.choice((self.write_file_path, self.write_list_path, self.write_method_path))(choose)
			status, text = self.attempt("values", who, "GET", path)
			rows = read_rows(text) if status == 200 else None
			# A site may have rows that everybody reads; lists are judged by what is the victim's.
			is_found = bool(rows) if isinstance(rows, int) else bool(rows) and self.names_victim(text)
			# Frappe 15 counts without looking at permissions.
			is_found = is_found and not (self.allows_faults_of_frappe and "client.get_count" in path)
			if is_found and "Note" not in path:
				self.failures.append(f"{who} GET {path}: finds {str(rows)[:200]}")

	def write_file_path(self, choose: random.Random) -> str:
		stem = self.file_url.rsplit("/", 1)[1]
		name = choose.choice(
			(stem, stem.upper(), stem.title(), quote(stem[0]) + stem[1:], f"{stem}%00", f"{stem}.")
		)
		folder = choose.choice(("/private/files/", "/files/", "/private/files//", "/files/../private/files/"))
		folder = choose.choice(
			(folder, folder.replace("private", "%70rivate"), folder.replace("/..", "/%2e%2e"))
		)
		tail = choose.choice(("", "?fid=", f"?fid={self.documents['File']}", "#x", "/"))
		return folder + name + tail

	def write_filters(self, choose: random.Random, doctype: str) -> dict:
		fields = {
			"ToDo": "description",
			"File": "file_url",
			"Agent Run": "prompt",
			"Agent Message": "content",
		}
		fieldname, value = fields.get(doctype, "name"), self.marker
		if doctype not in fields or choose.random() < 0.3:
			fieldname, value = "name", self.documents[doctype]
		elif doctype == "File":
			value = self.file_url
		operator = choose.choice(("=", "like", "in", ">=", "between"))
		operand = {"like": f"%{value[2:-2]}%", "in": [value, "x"], "between": [value, value]}.get(
			operator, value
		)
		if operator == ">=" and fieldname == "name":
			operator = "="
		return choose.choice(
			(
				{"filters": json.dumps([[doctype, fieldname, operator, operand]])},
				{"filters": json.dumps({fieldname: [operator, operand]})},
				{"or_filters": json.dumps([[fieldname, operator, operand], [fieldname, "=", value]])},
			)
		)

	def write_list_path(self, choose: random.Random) -> str:
		doctype = choose.choice(PERSONAL)
		extra = choose.choice(({}, {"fields": '["*"]'}, {"order_by": "modified desc"}, {"group_by": "owner"}))
		return f"/api/resource/{quote(doctype)}?{urlencode({**self.write_filters(choose, doctype), **extra})}"

	def write_method_path(self, choose: random.Random) -> str:
		doctype = choose.choice(PERSONAL)
		method = choose.choice(("get", "get_list", "get_value", "get_count"))
		values = {"doctype": doctype, **self.write_filters(choose, doctype)}
		values["filters"] = values.pop("or_filters", values.get("filters"))
		values |= {"fieldname": "name"} if method == "get_value" else {}
		return f"/api/method/frappe.client.{method}?{urlencode(values)}"

	def check_victim(self) -> None:
		"""Everything of the victim's is still there, and as it was."""
		victim = self.people["victim"]
		for doctype, name in self.documents.items():
			status, text = self.send("GET", f"/api/resource/{quote(doctype)}/{name}", victim, None)
			if status != 200 and doctype != "Agent LLM Call":
				self.failures.append(f"{doctype} {name} of the victim: {status} {text[:200]}")
		if self.send("GET", self.file_url, victim, None) != (200, self.marker):
			self.failures.append("the victim's file has changed")


@dataclass(frozen=True)
class Endpoint:
	path: str
	parameters: tuple[str, ...]
	methods: tuple[str, ...]
	allow_guest: bool


def list_endpoints() -> Iterator[Endpoint]:
	"""Every function that Huf's source marks with `frappe.whitelist`."""
	for file in sorted(HUF.rglob("*.py")):
		parts = file.relative_to(HUF.parent).with_suffix("").parts
		if {"tests", "embedded", "ui", "public"} & set(parts):
			continue
		body = ast.parse(file.read_text()).body
		constants = {
			ast.unparse(each.targets[0]): each.value for each in body if isinstance(each, ast.Assign)
		}
		for node in body:
			if not isinstance(node, ast.FunctionDef):
				continue
			for mark in node.decorator_list:
				if isinstance(mark, ast.Call) and ast.unparse(mark.func) == "frappe.whitelist":
					values = {each.arg: each.value for each in mark.keywords}
					given = {
						name: ast.literal_eval(constants.get(ast.unparse(value), value))
						for name, value in values.items()
					}
					names = tuple(each.arg for each in (*node.args.args, *node.args.kwonlyargs))
					path = ".".join((*parts, node.name))
					methods = tuple(given.get("methods") or ("GET", "POST"))
					yield Endpoint(path, names, methods, bool(given.get("allow_guest")))


def list_fields() -> Iterator[tuple[str, list[str]]]:
	"""(DocType, its field names) of Huf's DocTypes with documents of their own, and of two of Frappe's."""
	yield "ToDo", ["description", "allocated_to", "status", "reference_type", "reference_name", "assigned_by"]
	yield (
		"File",
		["file_url", "is_private", "attached_to_doctype", "attached_to_name", "content", "is_folder"],
	)
	for file in sorted((HUF / "huf" / "doctype").glob("*/*.json")):
		described = json.loads(file.read_text())
		if (
			described.get("doctype") == "DocType"
			and not described.get("istable")
			and not described.get("issingle")
		):
			yield described["name"], [each["fieldname"] for each in described["fields"]]


def read_rows(text: str) -> Any:
	try:
		body = json.loads(text)
	except ValueError:
		return None
	found = body.get("data", body.get("message")) if isinstance(body, dict) else None
	return [found] if isinstance(found, dict) and found else found


def send_over_http(base: str) -> Send:
	import urllib.error
	import urllib.request

	def send(method: str, path: str, person: str | None, body: Any) -> tuple[int, str]:
		headers = {"Accept": "application/json", "Content-Type": "application/json"}
		if person:
			headers["Authorization"] = f"token {person}"
		data = None if body is None else json.dumps(body).encode()
		request = urllib.request.Request(base + path.split("#")[0], data, headers, method=method)
		try:
			with urllib.request.urlopen(request, timeout=60) as answer:
				return answer.status, answer.read().decode("utf-8", "replace")
		except urllib.error.HTTPError as error:
			return error.code, error.read().decode("utf-8", "replace")

	return send


def take_admin_key(send: Send, base: str, user: str, password: str) -> str:
	"""`key:secret` of a signed-in System Manager."""
	import urllib.request
	from http.cookiejar import CookieJar

	opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(CookieJar()))
	form = urlencode({"usr": user, "pwd": password}).encode()
	opener.open(f"{base}/api/method/login", form, timeout=60).close()
	page = opener.open(f"{base}/huf", timeout=60).read().decode()
	token = page.partition("csrf_token")[2].strip("\"': =").split('"')[0].split("'")[0]
	key, secret = secrets.token_hex(8), secrets.token_hex(12)
	body = json.dumps({"api_key": key, "api_secret": secret}).encode()
	headers = {"Content-Type": "application/json", "X-Frappe-CSRF-Token": token}
	request = urllib.request.Request(f"{base}/api/resource/User/{quote(user)}", body, headers, method="PUT")
	opener.open(request, timeout=60).close()
	return f"{key}:{secret}"


def main() -> None:
	base = os.environ["HUF_BENCH_URL"].rstrip("/")
	send = send_over_http(base)
	key = os.environ.get("HUF_BENCH_API_KEY") or take_admin_key(
		send, base, os.environ["HUF_BENCH_USER"], os.environ["HUF_BENCH_PASSWORD"]
	)
	attacks = Attacks(send, key)
	attacks.run()
	print(json.dumps(dict(sorted(attacks.counts.items())), indent=1))
	print("\n".join(attacks.failures) or "No attack succeeded.")
	raise SystemExit(bool(attacks.failures))


if __name__ == "__main__":
	main()
