"""Base of the everyday job tests: a site with a model and users; set-up requests are counted."""

import json
import time
import urllib.request
from collections.abc import Callable
from urllib.parse import quote, urlencode

from huf.embedded.tests.pages import ADMIN, PageTestCase
from huf.tests.base import enter
from huf.tests.model_server import ModelServer, tool_call

MANAGER, CLERK, BOSS = "manager@office.example", "clerk@office.example", "boss@office.example"
MAX_STEPS = 4
TIMEOUT_S = 60
ALL_RIGHTS = {right: 1 for right in ("read", "write", "create", "delete")}


class JobTestCase(PageTestCase):
	"""Has a scripted `model`; `step` sends a set-up request and counts it."""

	@classmethod
	def setUpClass(cls):
		super().setUpClass()
		cls.model = enter(cls, ModelServer())
		cls.add_user(MANAGER, "Huf Manager")
		cls.add_user(CLERK, "Huf User")
		cls.add_user(BOSS, "Huf User")
		cls.model.script(tool_call("take_note", {"text": "OK"}))
		connection = {"provider": "Scripted", "model": "scripted", "api_key": "sk-test"}
		connected = cls.method("model.connect", {**connection, "api_base": cls.model.base_url})
		assert connected["ok"], connected
		# By default, writes of a local model need approval.
		cls.call("/api/resource/AI%20Model/scripted", {"ask_before_writes": 0}, "PUT")

	def setUp(self):
		self.steps = 0

	def tearDown(self):
		self.model.check()
		self.assertLessEqual(self.steps, MAX_STEPS)

	@classmethod
	def method(cls, name: str, data: dict | None = None, user: str = ADMIN):
		return cls.call(f"/api/method/huf.api.{name}", data, user=user).get("message")

	def step(self, path: str, data: dict, user: str = MANAGER) -> dict:
		self.steps += 1
		answer = self.call(path, data, user=user)
		return answer.get("data") or answer["message"]

	def record(self, doctype: str, user: str = MANAGER, **values) -> dict:
		return self.step(f"/api/resource/{quote(doctype)}", values, user)

	def agent(self, name: str, *tools: str, user: str = MANAGER, doctypes=None, agents=(), **values) -> dict:
		more = {name: values.pop(name) for name in ("needs_approval",) if name in values}
		values = {"agent_name": name, "agent_tool": [{"tool": tool} for tool in tools], **values}
		body = {"values": values, "doctypes": doctypes or {}, "agents": list(agents), **more}
		return self.step("/api/method/huf.api.agent.create", body, user)

	def own_doctype(self, name: str, *fields: str, roles=("Huf User", "Huf Manager")) -> None:
		fields = [
			{"fieldname": each, "fieldtype": "Data", "label": each, "in_list_view": 1} for each in fields
		]
		rules = [{"role": role, **ALL_RIGHTS} for role in roles]
		self.record("DocType", ADMIN, name=name, module="Huf", custom=1, fields=fields, permissions=rules)

	def rows(self, doctype: str, user: str = ADMIN, **filters) -> list[dict]:
		values = {"fields": '["*"]', "filters": json.dumps(filters), "limit_page_length": 0}
		query = f"?{urlencode(values)}"
		return self.call(f"/api/resource/{quote(doctype)}{query}", user=user)["data"]

	def chat(self, agent: str, prompt: str, user: str = CLERK, **more) -> dict:
		body = {"agent": agent, "prompt": prompt, **more}
		answer = self.call("/api/method/huf.ai.agent_chat.send_agent_chat_message", body, user=user)
		return answer["message"]

	def upload(self, name: str, content: bytes, user: str, **form: str) -> dict:
		"""Upload a file as the page's form does."""
		boundary = "a-boundary"
		parts = [
			f'--{boundary}\r\nContent-Disposition: form-data; name="{k}"\r\n\r\n{v}' for k, v in form.items()
		]
		head = f'--{boundary}\r\nContent-Disposition: form-data; name="file"; filename="{name}"\r\n\r\n'
		body = "".join(f"{part}\r\n" for part in parts).encode() + head.encode() + content
		self.call("/api/method/ping", user=user)
		headers = {"Cookie": self.sessions[user], "X-Frappe-CSRF-Token": self.tokens[user]}
		headers["Content-Type"] = f"multipart/form-data; boundary={boundary}"
		url = f"{self.server.url}/api/method/upload_file"
		request = urllib.request.Request(url, body + f"\r\n--{boundary}--\r\n".encode(), headers)
		return json.load(urllib.request.urlopen(request, timeout=20))["message"]

	def wait_for(self, find: Callable):
		"""Poll `find` until its result is true, and return that."""
		deadline = time.monotonic() + TIMEOUT_S
		while not (found := find()):
			self.assertLess(time.monotonic(), deadline, "the condition does not become true")
			time.sleep(0.1)
		return found


def last_result(body: dict):
	"""The last tool result in a model request, parsed."""
	return json.loads(next(m["content"] for m in reversed(body["messages"]) if m["role"] == "tool"))
