"""Attacks a site over HTTP as a guest, a user without roles, two Huf Users and a Huf Manager.

Runs in `test_attacks.py` and, on a served site that is only for tests, as a script:

	HUF_BENCH_URL=http://127.0.0.1:8000 HUF_BENCH_USER=Administrator HUF_BENCH_PASSWORD=... \
		python -m huf.tests.security.attacks [--embedded | --record VERSION]

`--embedded` also compares the answers with those of a bench, which `--record` writes.
"""

import argparse
import json
import os
import random
import re
import secrets
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote, urlencode

from huf.tests.security.answers import Answers, compare
from huf.tests.security.http_client import Send, send_over_http, take_admin_key
from huf.tests.security.targets import Target, list_endpoints, list_targets

ATTEMPTS = 200
SYSTEM_FIELDS = ("owner", "modified_by", "creation", "docstatus", "idx", "parent", "parenttype", "_user_tags")
EXAMPLES = {
	"Agent Route Rule": {"match_all": 1, "disabled": 1},
	"Agent Trigger": {"trigger_type": "Manual", "disabled": 1},
	"Agent Eval Case": {"prompt": "Hi", "definition": "expect:\n  - says: Hi"},
	"Agent Mailbox": {"enabled": 0},
	"MCP Server Connection": {"url": "http://127.0.0.1:9/mcp"},
	"MCP Server": {"url": "http://127.0.0.1:9/mcp", "enabled": 0},
}
"""Values of documents that are created as targets, in addition to mandatory ones."""
PERSONAL = ("ToDo", "File", "Agent Run", "Agent Conversation", "Agent Message", "Agent LLM Call")
"""DocTypes in which the victim owns a document."""


@dataclass
class Attacks:
	"""The users, the victim's documents, and the outcomes of the attempts."""

	send: Send
	admin: str
	marker: str = field(default_factory=lambda: f"secret{secrets.token_hex(8)}")
	allows_faults_of_frappe: bool = True
	answers: Answers = field(default_factory=Answers)
	failures: list[str] = field(default_factory=list)
	people: dict[str, str | None] = field(default_factory=dict)
	emails: dict[str, str] = field(default_factory=dict)
	documents: dict[str, str] = field(default_factory=dict)
	"""Names of the victim's documents by DocType."""
	others: dict[str, str] = field(default_factory=dict)
	targets: dict[str, Target] = field(
		default_factory=lambda: {each.doctype: each for each in list_targets()}
	)
	base: str = field(default_factory=lambda: f"attack-{secrets.token_hex(4)}")
	file_url: str = ""
	agent: str = ""

	def run(self) -> None:
		self.release_stops()
		self.prepare()
		for doctype in [name for name, target in self.targets.items() if not target.parent]:
			self.find_other(doctype)
		for attack in (self.attack_endpoints, self.attack_fields, self.attack_values):
			attack()
		self.release_stops()
		self.check_victim()

	# --- preparation, as Administrator and as the victim ---

	def prepare(self) -> None:
		roles = {"plain": [], "other": ["Huf User"], "victim": ["Huf User"], "manager": ["Huf Manager"]}
		self.people = {"guest": None, **{name: self.add_person(name, each) for name, each in roles.items()}}
		base = self.base
		# Nothing listens there: the run fails, and its conversation remains.
		provider = {"provide_name": base, "api_base": "http://127.0.0.1:9/v1", "is_local": 1}
		self.make("AI Provider", self.admin, **provider)
		model = self.make("AI Model", self.admin, model_name=base, provider=base)["name"]
		agent = {"agent_name": base, "model": model, "allow_chat": 1, "instructions": "Answer."}
		self.agent = self.make("Agent", self.admin, **agent)["name"]
		victim = self.people["victim"]
		# Frappe lets users create only to-dos that they are assigned to or assign.
		todo = {"description": self.marker, "allocated_to": self.emails["victim"]}
		self.documents["ToDo"] = self.make("ToDo", victim, **todo)["name"]
		settings = {"user": self.emails["victim"]}
		self.documents["Huf User Settings"] = self.make("Huf User Settings", victim, **settings)["name"]
		self.documents["Agent Memory"] = self.make("Agent Memory", victim, fact=self.marker)["name"]
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

	def find_other(self, doctype: str) -> str:
		"""The name of any document, created as Administrator if the DocType has none."""
		target = self.targets[doctype]
		if doctype not in self.others:
			self.others[doctype] = (
				doctype if target.is_single else self.find_any(doctype) or self.make_other(target)
			)
		return self.others[doctype]

	def find_any(self, doctype: str) -> str | None:
		rows = self.data("GET", f"/api/resource/{quote(doctype)}?limit_page_length=1", self.admin)
		return str(rows[0]["name"]) if rows else None

	def make_other(self, target: Target) -> str:
		needed = [each for each in target.fields if each.get("reqd") and not each.get("default")]
		values = {each["fieldname"]: self.make_value(each) for each in needed}
		# The name of a chunk is a number, which is its row id in the index.
		is_number = target.doctype == "Knowledge Chunk"
		name = secrets.token_hex(7) if is_number else f"{self.base}-{target.doctype}"
		values |= {"name": name, **EXAMPLES.get(target.doctype, {})}
		return str(self.make(target.doctype, self.admin, **values)["name"])

	def make_value(self, described: dict) -> str:
		"""A value for a mandatory field that its JSON describes."""
		kind, options = described["fieldtype"], described.get("options") or ""
		if kind == "Link":
			others = {"User": self.emails["victim"], "DocType": "ToDo"}
			return others.get(options) or self.find_other(options)
		if kind == "Dynamic Link":
			return self.documents["ToDo"]
		if kind == "Select":
			return options.split()[0]
		return f"{self.base}@example.com" if options == "Email" else self.base

	# --- attacks ---

	def attempt(
		self,
		name: tuple[str, str, str],
		who: str,
		method: str,
		path: str,
		body: Any = None,
		has_effect: Callable[[int, str], bool] = lambda _status, _text: True,
	) -> tuple[int, str]:
		"""Send a request, which fails if it reveals the victim's secret or causes a server error.

		`name` is (kind, target, variant); `has_effect` decides whether a 2xx response had an effect.
		"""
		status, text = self.send(method, path, self.people[who], body)
		kind, target, variant = name
		effect = status < 300 and has_effect(status, text)
		self.answers.add(kind, target, f"{who} {method}", variant, status, effect)
		if who != "manager" and self.marker in text and self.marker not in path + json.dumps(body):
			self.failures.append(f"{who} {method} {path} {body}: shows the secret")
		# Frappe answers 500 to missing arguments and to filters that form no valid query.
		is_of_frappe = "/huf." not in path or re.search(
			r"missing \d+ required|\"exc_type\": ?\"TypeError\"", text
		)
		if status >= 500 and not (is_of_frappe and self.allows_faults_of_frappe):
			self.failures.append(f"{who} {method} {path} {body}: {status} {text[:200]}")
		return status, text

	def attack_endpoints(self) -> None:
		"""Call every endpoint without arguments and with the victim's documents."""
		for endpoint in list_endpoints():
			path = f"/api/method/{endpoint.path}"
			filled = {name: self.guess(name) for name in endpoint.parameters}
			for who in ("guest", "plain", "other", "manager"):
				method = "GET" if "GET" in endpoint.methods else "POST"
				for values in ({},) if who == "manager" else ({}, filled):
					query = f"?{urlencode(values)}" if method == "GET" else ""
					name = ("endpoints", endpoint.path, "with arguments" if values else "")
					status, text = self.attempt(name, who, method, path + query, values)
					if who == "guest" and status == 200 and not endpoint.allow_guest:
						self.failures.append(f"guest {method} {path}: {text[:200]}")

	def guess(self, parameter: str) -> str:
		"""A value for a parameter by its name: a document of the victim if one fits."""
		known = {
			"run": "Agent Run",
			"left": "Agent Run",
			"right": "Agent Run",
			"conversation": "Agent Conversation",
			"conversation_id": "Agent Conversation",
			"thread": "Agent Conversation",
			"message": "Agent Message",
			"file": "File",
			"call": "Agent LLM Call",
		}
		others = {
			"agent": self.agent,
			"doctype": "ToDo",
			"name": self.documents["ToDo"],
			"file_url": self.file_url,
		}
		others |= {"attachments": json.dumps([self.file_url]), "agent_name": self.agent, "prompt": "Hi"}
		return self.documents[known[parameter]] if parameter in known else others.get(parameter, "1")

	def attack_fields(self) -> None:
		"""Change every field of every DocType in a document of someone else."""
		for target in self.targets.values():
			self.attack_creation(target)
			if target.parent:
				continue
			name = self.documents.get(target.doctype) or self.find_other(target.doctype)
			path = f"/api/resource/{quote(target.doctype)}/{quote(name, safe='')}"
			_status, before = self.send("GET", path, self.admin, None)
			values = dict.fromkeys((*target.fieldnames, *SYSTEM_FIELDS), "1")
			singly = [("other", fieldname, {fieldname: "1"}) for fieldname in values]
			for who, variant, each in (("guest", "all", values), ("plain", "all", values), *singly):
				status, _text = self.attempt(("fields", target.doctype, variant), who, "PUT", path, each)
				if status == 200:
					self.failures.append(f"{who} PUT {path} {each}: 200")
			for who in ("guest", "plain", "other"):
				if self.attempt(("fields", target.doctype, ""), who, "DELETE", path)[0] in (200, 202):
					self.failures.append(f"{who} DELETE {path}: deleted")
			if self.send("GET", path, self.admin, None)[1] != before:
				self.failures.append(f"{path} has changed")

	def attack_creation(self, target: Target) -> None:
		"""Create documents with every field, of DocTypes that only managers may create.

		Rows of child tables get a parent of someone else.
		"""
		if target.doctype in ("ToDo", "File"):
			return
		path, given = f"/api/resource/{quote(target.doctype)}", dict.fromkeys(SYSTEM_FIELDS, "1")
		if target.parent:
			parent = {"parent": self.find_other(target.parent[0]), "parenttype": target.parent[0]}
			given |= {**parent, "parentfield": target.parent[1], "docstatus": 0, "idx": 1}
		fields = target.fieldnames
		attempts = [(who, "all", dict.fromkeys(fields, "1")) for who in ("guest", "plain", "other")]
		for who, variant, values in [*attempts, *(("other", each, {each: "1"}) for each in fields)]:
			values = {**given, **values, "name": secrets.token_hex(4)}
			if self.attempt(("creation", target.doctype, variant), who, "POST", path, values)[0] == 200:
				self.failures.append(f"{who} POST {path} {values}: created")

	def names_victim(self, text: str) -> bool:
		return any(str(each) in text for each in (*self.documents.values(), self.file_url))

	def attack_values(self) -> None:
		"""Look up the victim's files, names and texts with generated requests."""
		choose = random.Random(7)
		for _ in range(ATTEMPTS):
			who = choose.choice(("guest", "plain", "other"))
			path = choose.choice((self.write_file_path, self.write_list_path, self.write_method_path))(choose)
			name = ("values", self.mask(path), "")
			status, text = self.attempt(name, who, "GET", path, has_effect=self.finds)
			# Frappe 15 counts without checking permissions.
			is_fault_of_frappe = self.allows_faults_of_frappe and "client.get_count" in path
			if self.finds(status, text) and not is_fault_of_frappe:
				self.failures.append(f"{who} GET {path}: finds {text[:200]}")

	def finds(self, status: int, text: str) -> bool:
		"""Whether a response counts rows or contains the victim's; a site may have other, public rows."""
		rows = read_rows(text) if status == 200 else None
		return bool(rows) if isinstance(rows, int) else bool(rows) and self.names_victim(text)

	def mask(self, path: str) -> str:
		"""Replace the parts of a path that differ between two runs."""
		stem = self.file_url.rsplit("/", 1)[1]
		known = {stem: "FILE", stem.upper(): "FILE-UPPER", stem.title(): "FILE-TITLE", stem[1:]: "FILE-TAIL"}
		known |= {self.marker: "SECRET", **{name: doctype for doctype, name in self.documents.items()}}
		known |= {name[2:-2]: f"{each}-PART" for name, each in known.items()}
		for name in sorted(known, key=len, reverse=True):
			path = path.replace(name, known[name])
		return path

	def write_file_path(self, choose: random.Random) -> str:
		stem = self.file_url.rsplit("/", 1)[1]
		name = choose.choice(
			(stem, stem.upper(), stem.title(), f"%{ord(stem[0]):02x}{stem[1:]}", f"{stem}%00", f"{stem}.")
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
		root = choose.choice(("/api/resource", "/api/resource", "/api/v1/resource", "/api/v2/document"))
		return f"{root}/{quote(doctype)}?{urlencode({**self.write_filters(choose, doctype), **extra})}"

	def write_method_path(self, choose: random.Random) -> str:
		doctype = choose.choice(PERSONAL)
		method = choose.choice(("get", "get_list", "get_value", "get_count"))
		values = {"doctype": doctype, **self.write_filters(choose, doctype)}
		values["filters"] = values.pop("or_filters", values.get("filters"))
		values |= {"fieldname": "name"} if method == "get_value" else {}
		return f"/api/method/frappe.client.{method}?{urlencode(values)}"

	def release_stops(self) -> None:
		"""Release all stops: the manager's calls of every endpoint stop all agents."""
		_status, text = self.send("GET", "/api/method/huf.api.stop.get_stops", self.admin, None)
		for stop in json.loads(text)["message"]:
			self.send("POST", "/api/method/huf.api.stop.release", self.admin, {"stop": stop["name"]})

	def check_victim(self) -> None:
		"""The victim's documents still exist, and the file is unchanged."""
		victim = self.people["victim"]
		for doctype, name in self.documents.items():
			status, text = self.send("GET", f"/api/resource/{quote(doctype)}/{name}", victim, None)
			if status != 200 and doctype != "Agent LLM Call":
				self.failures.append(f"{doctype} {name} of the victim: {status} {text[:200]}")
		if self.send("GET", self.file_url, victim, None) != (200, self.marker):
			self.failures.append("the victim's file has changed")


def read_rows(text: str) -> Any:
	try:
		body = json.loads(text)
	except ValueError:
		return None
	found = body.get("data", body.get("message")) if isinstance(body, dict) else None
	return [found] if isinstance(found, dict) and found else found


def main() -> None:
	parser = argparse.ArgumentParser()
	parser.add_argument(
		"--embedded", action="store_true", help="compare with the recorded answers of a bench"
	)
	parser.add_argument("--record", metavar="VERSION", help="write the answers of a bench with this Frappe")
	options = parser.parse_args()
	base = os.environ["HUF_BENCH_URL"].rstrip("/")
	send = send_over_http(base)
	key = os.environ.get("HUF_BENCH_API_KEY") or take_admin_key(
		send, base, os.environ["HUF_BENCH_USER"], os.environ["HUF_BENCH_PASSWORD"]
	)
	attacks = Attacks(send, key, allows_faults_of_frappe=not options.embedded)
	attacks.run()
	print(json.dumps(dict(sorted(attacks.answers.counts.items())), indent=1))
	failures = attacks.failures + (compare(attacks.answers) if options.embedded else [])
	print("\n".join(failures) or "No attack succeeded.")
	if options.record:
		attacks.answers.write(options.record)
	raise SystemExit(bool(failures))


if __name__ == "__main__":
	main()
