"""Facts in Agent Memory are shown to nobody whom they are not meant for, by any way of reading."""

import json
from urllib.parse import quote

import frappe

from huf.ai.core.session import acting_as
from huf.ai.knowledge.memory import recall
from huf.ai.knowledge.search import search_knowledge
from huf.ai.queries.records import list_records
from huf.ai.queries.search import search_everything
from huf.tests.ai.knowledge.test_memory import MEMORY, MemoryTestCase
from huf.tests.api.test_mcp import McpTestCase
from huf.tests.api.test_openai import SECRET, make_key
from huf.tests.doctypes import CASE, EDITOR, READER, make_case
from huf.tests.factories import make, make_agent, make_role, make_tool, make_user, unique
from huf.tests.http import send
from huf.tests.knowledge import make_source


class TestMemoryCanary(MemoryTestCase, McpTestCase):
	"""A user with fewer rights finds no fact by content, count or title through any interface."""

	def test_facts_of_others_are_hidden_in_records_search_rest_and_mcp(self):
		for kind in (self.store_for_user, self.store_for_role, self.store_for_record):
			with self.subTest(kind.__name__):
				frappe.set_user("Administrator")
				canary = f"canary{frappe.generate_hash(length=12)}"
				outsider, reader = make_user("Huf User"), kind(canary)
				name = frappe.db.get_value(MEMORY, {"fact": ["like", f"%{canary}%"]})
				self.assertTrue(name)
				self.set_up_readers(canary)
				for user, may_read in ((outsider, False), (reader, True)):
					for interface, output in self.query_interfaces(user, name, canary).items():
						self.assertEqual(
							canary in output or name in output,
							may_read,
							f"{interface} as {user}: {output[:300]}",
						)
				self.assertEqual(self.count_facts(outsider, canary), {0})
				self.assertEqual(self.count_facts(reader, canary), {1})

	def store_for_user(self, canary: str) -> str:
		self.store_fact(self.user, f"The word is {canary}")
		return self.user

	def store_for_role(self, canary: str) -> str:
		role = make_role()
		self.store_fact(make_user("Huf User", role), f"The word is {canary}", role=role)
		return make_user("Huf User", role)

	def store_for_record(self, canary: str) -> str:
		case = make_case(title="Roof").name
		self.store_fact(make_user("Huf User", EDITOR), f"The word is {canary}", doctype=CASE, name=case)
		return make_user("Huf User", READER)

	def set_up_readers(self, canary: str) -> None:
		"""Set up all readers of facts: tools, a knowledge source, and resources over MCP."""
		self.source = make_source(
			reference_doctype=MEMORY, filters=json.dumps({"fact": ["like", f"%{canary}%"]})
		)
		self.lister = make_tool("Get List", reference_doctype=MEMORY)
		self.search = make_tool("Search Knowledge")
		tools = [self.recall, self.lister, self.search]
		agent = make_agent(None, tuple(tools), knowledge=[{"source": self.source}])
		frappe.db.set_value(MEMORY, {"fact": ["like", f"%{canary}%"]}, "agent", None)
		offers = [{"offer_type": "Agent Tool Function", "offer": each} for each in tools]
		offers += [{"offer_type": "Knowledge Source", "offer": self.source}]
		offers += [{"offer_type": "DocType", "offer": MEMORY}]
		self.slug = make("MCP Server", server_name=unique("All"), agent=agent, offers=offers).slug
		frappe.db.commit()

	def query_interfaces(self, user: str, name: str, canary: str) -> dict[str, str]:
		"""What each interface returns to a user who knows the fact's name and words."""
		filters = quote(json.dumps([["fact", "like", f"%{canary[:8]}%"]]))
		frappe.set_user("Administrator")
		key = make_key(user)
		self.headers = {"Authorization": f"Bearer {key}:{SECRET}"}
		headers = {"Authorization": f"token {key}:{SECRET}"}
		address = f"huf://document/{quote(MEMORY, safe='')}"
		reference = {"type": "ref/resource", "uri": f"{address}/{{name}}"}

		def get_rest(path: str) -> str:
			answer = send(path, headers=headers)
			if answer.status_code == 200:
				return answer.get_data(as_text=True)
			error_text = answer.get_data(as_text=True).replace(name, "")
			self.assertNotIn(CASE, error_text)
			return error_text

		def call_mcp(method: str, params: dict | None = None) -> str:
			answer = json.dumps(self.post(method, params).json.get("result") or {})
			return answer.replace(f"{address}/{name}", "") if method == "resources/read" else answer

		with acting_as(user):
			outputs = {
				"records": str(list_records(MEMORY, canary)),
				"everything": str([each for each in search_everything(canary) if each["name"] == name]),
				"recall": str(recall("word", None)),
				"knowledge": str(search_knowledge(canary, [self.source])["results"]),
			}
		outputs |= {
			"list": get_rest(f"/api/resource/{quote(MEMORY)}?filters={filters}&fields=[%22*%22]"),
			"resource": get_rest(f"/api/resource/{quote(MEMORY)}/{name}"),
			"link": get_rest(
				f"/api/method/frappe.desk.search.search_link?doctype={quote(MEMORY)}&txt={canary[:8]}"
			),
			"mcp list": call_mcp("resources/list"),
			"mcp get list": call_mcp(
				"tools/call", {"name": self.lister, "arguments": {"limit": 500, "fields": ["fact"]}}
			),
			"mcp recall": call_mcp(
				"tools/call", {"name": self.recall, "arguments": {"query": "word", "limit": 50}}
			),
			"mcp completion": call_mcp(
				"completion/complete", {"ref": reference, "argument": {"name": "name", "value": name[:5]}}
			),
			"mcp read": call_mcp("resources/read", {"uri": f"{address}/{name}"}),
		}
		return outputs

	def count_facts(self, user: str, canary: str) -> set[int]:
		"""The number of facts with the word, by each interface that counts them."""
		headers = {"Authorization": f"token {make_key(user)}:{SECRET}"}
		filters = quote(json.dumps([["fact", "like", f"%{canary}%"]]))
		path = f"/api/method/frappe.client.get_count?doctype={quote(MEMORY)}&filters={filters}"
		by_rest = send(path, headers=headers).json["message"]
		with acting_as(user):
			listed = len(list_records(MEMORY, canary))
			recalled = len(
				[each for each in recall("word", None, limit=50)["results"] if canary in each["fact"]]
			)
		return {by_rest, listed, recalled}
