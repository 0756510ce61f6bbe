"""MCP clients never receive a canary value that their user may not read, whatever the kind of permission."""

import json
from urllib.parse import quote

import frappe

from huf.tests.ai.knowledge.test_canary import KINDS, by_level_in_a_row
from huf.tests.api.test_mcp import ELICITATION, TASKS, McpTestCase
from huf.tests.api.test_openai import SECRET, make_key
from huf.tests.base import enter
from huf.tests.doctypes import CASE, EDITOR
from huf.tests.factories import make, make_agent, make_model, make_role, make_tool, make_user, unique
from huf.tests.knowledge import make_source
from huf.tests.model_server import ModelServer

SEARCHES = 2
"""The first N answers of `ask` depend only on the query."""


class TestMcpCanaries(McpTestCase):
	def test_secrets_are_returned_only_to_users_with_read_permission(self):
		for kind in KINDS:
			with self.subTest(kind.__name__):
				frappe.set_user("Administrator")
				canary = f"canary{frappe.generate_hash(length=12)}"
				user, source, other = kind(canary)
				if kind is by_level_in_a_row:
					canary = "4815162342"
				self.offer_all(source)
				self.assertNotIn(canary, self.collect(user, canary))
				# Counts, scores and errors must not reveal that the canary exists.
				unknown = canary[:-4] + "".join(reversed(canary[-4:])) + "7"
				self.assertEqual(*(self.ask(word)[:SEARCHES] for word in (canary, unknown)))
				self.assertIn(canary, self.collect(other, canary))

	def test_a_source_with_an_embedding_model_is_searched_by_meaning(self):
		server = enter(self, ModelServer())
		files = (("a.txt", "The roof of the house leaks"), ("b.txt", "A bill for gutters"))
		source = make_source(*files, embedding_model=make_model(server))
		offers = [{"offer_type": "Knowledge Source", "offer": source}]
		self.slug = make("MCP Server", server_name=unique("Meaning"), offers=offers).slug
		frappe.db.commit()
		before = len(server.requests)
		found = self.result("resources/read", {"uri": "huf://knowledge/house%20roof%20that%20drips"})
		self.assertIn("leaks", found["contents"][0]["text"])
		self.assertEqual(len(server.requests), before + 1)

	def offer_all(self, source: str) -> None:
		"""Make a server that offers a source, its DocType, and tools that read both."""
		row = frappe.db.get_value(
			"Knowledge Source", source, ["reference_doctype", "document_fields"], as_dict=True
		)
		self.doctype = row.reference_doctype
		self.search = make_tool("Search Knowledge")
		tools = [self.search]
		if self.doctype:
			self.reader = make_tool("Get List", reference_doctype=self.doctype)
			tools.append(self.reader)
		agent = make_agent(None, tuple(tools), knowledge=[{"source": source}])
		offers = [{"offer_type": "Agent Tool Function", "offer": each} for each in tools]
		offers.append({"offer_type": "Knowledge Source", "offer": source})
		if self.doctype:
			offers.append({"offer_type": "DocType", "offer": self.doctype})
		self.slug = make("MCP Server", server_name=unique("All"), agent=agent, offers=offers).slug
		frappe.db.commit()

	def collect(self, user: str, word: str) -> str:
		"""Everything that a client of this user receives, including searches for "roof" and for `word`."""
		frappe.set_user("Administrator")
		self.headers = {"Authorization": f"Bearer {make_key(user)}:{SECRET}"}
		sent = [
			self.post(f"{kind}/list").get_data(as_text=True) for kind in ("tools", "resources", "prompts")
		]
		sent += [each for query in ("roof", word) if query for each in self.ask(query)]
		listed = self.result("resources/list")["resources"]
		names = (
			frappe.get_all(self.doctype, pluck="name", order_by="creation desc", limit=4)
			if self.doctype
			else []
		)
		uris = {each["uri"] for each in listed} | {
			f"huf://document/{quote(self.doctype, safe='')}/{name}" for name in names
		}
		sent += [self.post("resources/read", {"uri": uri}).get_data(as_text=True) for uri in sorted(uris)]
		# Errors and arguments repeat the query, which is not a leak.
		return "\n".join(sent).replace(f"knowledge/{word}", "")

	def ask(self, query: str) -> list[str]:
		answers = [
			self.post("resources/read", {"uri": f"huf://knowledge/{query}"}),
			self.post("tools/call", {"name": self.search, "arguments": {"query": query}}),
		]
		if self.doctype:
			ref = {"type": "ref/resource", "uri": f"huf://document/{quote(self.doctype, safe='')}/{{name}}"}
			argument = {"name": "name", "value": ""}
			answers += [
				self.post("tools/call", {"name": self.reader, "arguments": {"limit": 100}}),
				self.post("completion/complete", {"ref": ref, "argument": argument}),
			]
		return [drop_query(each.json) for each in answers]


def drop_query(body: dict) -> str:
	"""The body as JSON, without the query that a search repeats."""

	def clean(value):
		if isinstance(value, dict):
			return {key: clean(each) for key, each in value.items() if key not in ("query", "uri")}
		if isinstance(value, list):
			return [clean(each) for each in value]
		if isinstance(value, str) and value.startswith("{"):
			try:
				return clean(json.loads(value))
			except ValueError:
				return value
		return value

	return json.dumps(clean(body))


class TestWhatIsOffered(McpTestCase):
	"""What a user may not use is hidden, and its errors equal those of names that do not exist."""

	def setUp(self):
		super().setUp()
		self.key = self.headers

	def assert_unknown(self, name: str):
		arguments = {"message": "Hi"} if name.startswith("ask_") else {}
		refused = self.post("tools/call", {"name": name, "arguments": arguments}).json["error"]
		missing = self.post("tools/call", {"name": f"{name}x", "arguments": {}}).json["error"]
		self.assertEqual(refused["code"], missing["code"])
		self.assertEqual(refused["message"].replace(name, "?"), missing["message"].replace(f"{name}x", "?"))
		self.assertNotIn(name, self.names())

	def test_tool_of_another_role_is_unknown(self):
		self.assertIn(self.read, self.names())
		self.assert_unknown(self.hidden)

	def test_inaccessible_disabled_and_non_chat_agents_are_unknown(self):
		values = ({"roles": [{"role": make_role()}]}, {"disabled": 1}, {"allow_chat": 0})
		agents = [make_agent(None, (self.read,), **each) for each in values]
		self.slug = self.make_server(self.todo_agent, (), (self.todo_agent, *agents))
		(shown,) = self.names()
		for agent in agents:
			self.assertNotIn(agent, json.dumps(self.result("tools/list")))
			self.assert_unknown(f"ask_{agent.lower().replace(' ', '_')}")
		self.assertTrue(shown.startswith("ask_"))

	def test_tools_of_an_inaccessible_agent_are_unknown(self):
		agent = make_agent(None, (self.read,), roles=[{"role": make_role()}])
		self.slug = self.make_server(agent, (self.read,))
		self.assertEqual(self.names(), [])
		self.assert_unknown(self.read)

	def test_inaccessible_or_disabled_server_responds_like_a_missing_one(self):
		answers = [self.post("tools/list", path="/mcp/never-was")]
		for values in ({"roles": [{"role": make_role()}]}, {"enabled": 0}):
			slug = self.make_server(self.todo_agent, (self.read,), **values)
			answers.append(self.post("tools/list", path=f"/mcp/{slug}"))
		self.assertEqual({(each.status_code, each.get_data()) for each in answers}, {(404, answers[0].data)})

	def test_task_of_another_user_is_not_found(self):
		description = unique("Mine")
		self.call(self.create, {"description": description, "allocated_to": self.user})
		run = frappe.get_last_doc("Agent Run", {"agent": self.todo_agent}).name
		self.headers = {"Authorization": f"Bearer {make_key(make_user('Huf User'))}:{SECRET}"}

		errors = [
			self.post(f"tasks/{method}", {"taskId": task}, meta=TASKS).json["error"]
			for task in (run, "nothing")
			for method in ("get", "cancel")
		]
		self.assertEqual({(each["code"], each["message"]) for each in errors}, {(-32602, "Task not found")})

	def test_request_state_is_bound_to_its_user(self):

		self.slug = self.make_server(self.agent, (self.update,))
		arguments = {"name": self.order.name, "values": {"note": "new"}}
		pending = self.call(self.update, arguments, meta=ELICITATION)
		(key,) = pending["inputRequests"]

		other = make_user("Huf User", EDITOR)
		self.headers = {"Authorization": f"Bearer {make_key(other)}:{SECRET}"}
		answer = {
			"name": self.update,
			"arguments": arguments,
			"inputResponses": {key: {"action": "accept"}},
			"requestState": pending["requestState"],
		}
		refused = self.post("tools/call", answer, meta=ELICITATION)
		self.assertEqual(refused.json["error"]["message"], "Invalid or expired requestState")
		self.assertEqual(self.note(), "old")

	def test_document_of_a_doctype_not_offered_is_not_found(self):
		uri = f"huf://document/User/{quote(self.user, safe='')}"
		self.assertEqual(
			self.post("resources/read", {"uri": uri}).json["error"]["message"], "Resource not found"
		)
		self.assertTrue(frappe.db.exists("DocType", CASE))
