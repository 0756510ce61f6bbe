"""Shared by tests of approvals: an agent whose tool needs approval, and runs that wait for it."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import frappe

from huf.ai.chat.approvals import approve_call
from huf.ai.core.session import acting_as
from huf.ai.runs.entry import run_agent_sync
from huf.ai.runs.queue import work_on
from huf.ai.storage.drafts import read_draft
from huf.tests.base import SiteTestCase, enter
from huf.tests.doctypes import EDITOR, ORDER, make_doctypes, make_order
from huf.tests.factories import make_agent, make_model, make_tool, make_user
from huf.tests.model_server import ModelServer, text, tool_call


class DraftTestCase(SiteTestCase):
	"""A user, a scripted model, an order, and a tool that changes orders after approval."""

	def setUp(self):
		super().setUp()
		make_doctypes()
		self.user = make_user("Huf User", EDITOR)
		self.server = enter(self, ModelServer())
		self.order = make_order("nail", note="old")
		self.update = make_tool("Update Document", reference_doctype=ORDER, requires_approval=1)
		self.agent = self.make_agent(self.update)

	def make_agent(self, *tools: str, **values) -> str:
		return make_agent(make_model(self.server), tools, **values)

	def change(self, note: str, **values) -> dict:
		return tool_call(self.update, {"name": self.order.name, "values": {"note": note, **values}})

	def start(self, *turns, agent: str | None = None, user: str | None = None) -> dict:
		"""Run until the run waits or ends; returns `run_agent_sync`'s result."""
		self.server.script(*turns)
		with acting_as(user or self.user):
			return run_agent_sync(
				agent or self.agent, "Change the order", channel_id=frappe.generate_hash(length=8)
			)

	def start_change(self, note: str = "new", answer: str | None = None, **values) -> dict:
		"""Start a run that waits to change the order's note; `answer`: the model's text after approval."""
		result = self.start(self.change(note, **values), *([text(answer)] if answer else []))
		self.assertEqual(result["status"], "Waiting", result)
		return result

	def approve_call(self, result: dict, **more) -> dict:
		"""Approve the draft for which a run waits, as its user."""
		with acting_as(self.user):
			return approve_call(result["draft"]["draft"], result["draft"]["digest"], **more)

	def go_on(self, run: str):
		"""Resume the run, as a worker does after an approval."""
		frappe.db.commit()
		frappe.set_user("Administrator")
		return work_on(run)

	def draft(self, result: dict):
		frappe.db.rollback()
		return read_draft(result["draft"]["draft"])

	def note(self) -> str | None:
		frappe.db.rollback()
		return frappe.db.get_value(ORDER, self.order.name, "note")

	def calls(self, run: str) -> list[tuple[str, str]]:
		rows = frappe.get_all(
			"Agent Tool Call", {"run": run}, ["tool", "status"], order_by="step asc, position asc"
		)
		return [(row.tool, row.status) for row in rows]

	def seen(self) -> str:
		"""The last message that was sent to the model."""
		return self.server.requests[-1]["messages"][-1]["content"]


class Shop:
	"""An external service that records the bodies it receives."""

	def __init__(self):
		self.bodies: list[dict] = []
		shop = self

		class Handler(BaseHTTPRequestHandler):
			protocol_version = "HTTP/1.1"  # keeps connections open

			def do_POST(self):
				shop.bodies.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
				self.send_response(204)
				self.end_headers()

			def log_message(self, *args):
				pass

		self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
		self.url = f"http://127.0.0.1:{self.server.server_address[1]}"

	def __enter__(self) -> "Shop":
		threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True).start()
		return self

	def __exit__(self, *_):
		self.server.shutdown()
		self.server.server_close()
