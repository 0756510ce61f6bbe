"""Objects of a request are freed at once, without waiting for the garbage collector."""

import gc
import json
from functools import partial

import frappe
import frappe.app
from werkzeug.test import EnvironBuilder

from huf.embedded.tests.sites import SiteTestCase, isolated
from huf.tests.api.test_openai import SECRET, make_key
from huf.tests.base import enter
from huf.tests.factories import make_agent, make_model, make_tool, make_user
from huf.tests.model_server import ModelServer, text, tool_call

RUN, STREAM = "huf.ai.agent_integration.run_agent_sync", "huf.api.chat.stream"


class TestMemory(SiteTestCase):
	def test_runs_and_streams_leave_no_reference_cycles(self):
		self.model = enter(self, ModelServer(strict=False))
		self.model.forever(self.answer)
		self.tool = make_tool("Get List", reference_doctype="ToDo")
		self.agent = make_agent(make_model(self.model), (self.tool,))
		self.key = f"token {make_key(make_user('Huf Manager'))}:{SECRET}"
		frappe.db.commit()
		for method, name in ((RUN, "agent_name"), (STREAM, "agent")):
			with self.subTest(method):
				call = partial(isolated, self.request, method, name)
				call()
				self.assertEqual(self.list_garbage(call), set())

	def answer(self, request: dict) -> dict:
		is_first = request["messages"][-1]["role"] == "user"
		return tool_call(self.tool, {}) if is_first else text("Nothing.")

	def request(self, method: str, name: str) -> None:
		body = json.dumps({name: self.agent, "prompt": "What is open?"}).encode()
		headers = {"Authorization": self.key}
		builder = EnvironBuilder(
			f"/api/method/{method}",
			method="POST",
			data=body,
			content_type="application/json",
			headers=headers,
		)
		answer = frappe.app.application(builder.get_environ(), lambda status, headers, error=None: None)
		self.assertIn(
			b"Nothing.", b"".join(each if isinstance(each, bytes) else each.encode() for each in answer)
		)
		answer.close()

	def list_garbage(self, call) -> set[str]:
		"""Classes of Huf, Frappe and Werkzeug with objects in reference cycles after a call."""
		gc.collect()
		gc.disable()
		try:
			call()
			gc.set_debug(gc.DEBUG_SAVEALL)
			gc.collect()
			classes = {type(each) for each in gc.garbage}
		finally:
			gc.set_debug(0)
			gc.garbage.clear()
			gc.enable()
		names = {f"{each.__module__}.{each.__qualname__}" for each in classes}
		return {each for each in names if each.split(".")[0] in ("huf", "frappe", "werkzeug")}
