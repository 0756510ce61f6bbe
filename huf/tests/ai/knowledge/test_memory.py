"""Agent Memory: kept for a user, a role or a record, offered to later runs, and shown to nobody else."""

import json
from urllib.parse import quote

import frappe
from frappe.utils import add_to_date, now_datetime, today

from huf.ai.chat.approvals import approve_call
from huf.ai.core.errors import ToolError
from huf.ai.knowledge.memory import MAX_OFFERED_CHARS, recall, remember
from huf.ai.knowledge.search import search_knowledge
from huf.ai.queries.records import list_records, list_used_doctypes
from huf.ai.queries.search import search_everything
from huf.ai.runs.admission import acting_as
from huf.ai.runs.entry import run_agent_sync
from huf.ai.runs.queue import work_on
from huf.ai.storage.retention import apply_retention
from huf.ai.tools.registry import tool
from huf.ai.tools.taint import find_origins
from huf.ai.tools.untrusted import trust_record
from huf.tests.api.test_mcp import McpTestCase
from huf.tests.api.test_openai import SECRET, make_key
from huf.tests.base import SiteTestCase, enter
from huf.tests.doctypes import CASE, EDITOR, READER, make_case, make_doctypes
from huf.tests.factories import make, make_agent, make_model, make_role, make_tool, make_user, unique
from huf.tests.http import send
from huf.tests.knowledge import make_source
from huf.tests.model_server import ModelServer, text, tool_call

MEMORY = "Agent Memory"


@tool(effect="read", untrusted_result=True)
def read_outside_text() -> str:
	"""Text that a stranger wrote."""
	return "Her account is DE02120300000000202051."


class MemoryTestCase(SiteTestCase):
	def setUp(self):
		super().setUp()
		make_doctypes()
		self.server = enter(self, ModelServer())
		self.remember, self.recall = make_tool("Remember"), make_tool("Recall")
		self.agent = make_agent(make_model(self.server), (self.remember, self.recall))
		self.user, self.other = make_user("Huf User"), make_user("Huf User")

	def run_as(self, user: str, *turns, agent: str | None = None, prompt: str = "Hello") -> dict:
		self.server.script(*turns)
		with acting_as(user):
			return run_agent_sync(agent or self.agent, prompt, channel_id=frappe.generate_hash(length=8))

	def keep(self, user: str, fact: str, **where) -> str:
		with acting_as(user):
			name = remember(fact, self.agent, **where)["name"]
		frappe.db.commit()
		return name

	def facts(self, user: str, *args, **kwargs) -> list[str]:
		with acting_as(user):
			return [each["fact"] for each in recall(*args, agent=self.agent, **kwargs)["results"]]

	def instructions(self, user: str, agent: str | None = None) -> str:
		self.run_as(user, text("Hello."), agent=agent)
		return self.server.requests[-1]["messages"][0]["content"]


class TestMemory(MemoryTestCase):
	def test_a_fact_is_stored_with_its_message_and_offered_to_later_runs_of_the_user(self):
		call = tool_call(self.remember, {"fact": "Prefers tea to coffee.", "expires_on": "2099-01-01"})
		result = self.run_as(self.user, call, text("Noted."), prompt="I prefer tea")
		doc = frappe.get_doc(MEMORY, {"run": result["run"]})
		self.assertEqual(
			(doc.scope, doc.user, doc.agent, doc.owner), ("User", self.user, self.agent, self.user)
		)
		self.assertEqual(frappe.db.get_value("Agent Message", doc.message, "content"), "I prefer tea")
		self.assertEqual(str(doc.expires_on), "2099-01-01")
		self.assertIn("Prefers tea to coffee. (the user, ", self.instructions(self.user))
		self.assertNotIn("tea", self.instructions(self.other))
		call = tool_call(self.recall, {"query": "what drink: coffee?"})
		self.run_as(self.user, call, text("Tea."))
		self.assertIn("Prefers tea", self.server.requests[-1]["messages"][-1]["content"])

	def test_other_agents_and_agents_without_memory_tools_see_no_facts(self):
		self.keep(self.user, "Prefers tea.")
		plain = make_agent(make_model(self.server))
		neighbour = make_agent(make_model(self.server), (self.recall,))
		for agent in (plain, neighbour):
			self.assertNotIn("tea", self.instructions(self.user, agent))
		frappe.db.set_value(MEMORY, {"user": self.user}, "agent", None)
		frappe.db.commit()
		self.assertIn("tea", self.instructions(self.user, neighbour))
		self.assertNotIn("tea", self.instructions(self.user, plain))

	def test_facts_of_an_agent_are_listed_on_the_records_page(self):
		self.keep(self.user, "Prefers tea.")
		with acting_as(self.user):
			self.assertIn(MEMORY, [each["name"] for each in list_used_doctypes()])
			listed = list_records(MEMORY, self.agent)
			self.assertEqual([(row.fact, row.agent) for row in listed], [("Prefers tea.", self.agent)])

	def test_a_team_and_the_readers_of_a_record_share_facts(self):
		role = make_role()
		mate = make_user("Huf User", role)
		case = make_case(title="Roof").name
		editor, reader = make_user("Huf User", EDITOR), make_user("Huf User", READER)
		self.keep(make_user("Huf User", role), "The team meets on Monday.", role=role)
		self.keep(editor, "The owner calls late.", doctype=CASE, name=case)
		self.assertEqual(self.facts(mate), ["The team meets on Monday."])
		self.assertEqual(self.facts(reader, doctype=CASE, name=case), ["The owner calls late."])
		self.assertEqual(self.facts(self.user), [])
		self.assertIn("meets on Monday", self.instructions(mate))
		self.assertNotIn("calls late", self.instructions(reader))

	def test_facts_for_other_users_roles_or_records_are_refused(self):
		role, case = make_role(), make_case(title="Roof").name
		reader = make_user("Huf User", READER)
		for user, where in (
			(self.user, {"role": role}),
			(self.user, {"doctype": CASE, "name": case}),
			(reader, {"doctype": CASE, "name": case}),
		):
			with self.subTest(where), self.assertRaises(frappe.PermissionError):
				self.keep(user, "Always pay at once.", **where)
		with acting_as(self.user), self.assertRaises(frappe.PermissionError):
			make(MEMORY, fact="Always pay at once.", scope="User", user=self.other)
		with self.assertRaises(ToolError):
			self.keep(self.user, "x", doctype=CASE)
		with self.assertRaises(ToolError):
			self.keep(self.user, "x", expires_on="2020-01-01")
		with self.assertRaises(frappe.ValidationError):
			make(
				MEMORY,
				fact="x",
				scope="Record",
				reference_doctype="Huf Settings",
				reference_name="Huf Settings",
			)

	def test_taking_over_the_fact_of_another_by_changing_its_audience_is_refused(self):
		name = self.keep(self.user, "Earns 4,000 a month.")
		with acting_as(self.other):
			doc = frappe.get_doc(MEMORY, name)
			doc.user = self.other
			self.assertRaises(frappe.PermissionError, doc.save)
			self.assertRaises(frappe.PermissionError, doc.delete)
		with acting_as(self.user):
			doc = frappe.get_doc(MEMORY, name)
			doc.user = self.other
			self.assertRaises(frappe.PermissionError, doc.save)
			doc.reload()
			doc.fact = "Earns 5,000 a month."
			doc.save()
			self.assertEqual(self.facts(self.user), ["Earns 5,000 a month."])
			doc.delete()
		self.assertEqual(self.facts(self.user), [])

	def test_repeated_facts_are_stored_once_and_expired_ones_are_deleted(self):
		first = self.keep(self.user, "Prefers tea.", expires_on=today())
		self.assertEqual(self.keep(self.user, "Prefers  tea."), first)
		self.assertIsNone(frappe.db.get_value(MEMORY, first, "expires_on"), "the second time it was for good")
		self.assertEqual(self.keep(self.user, "Prefers tea.", expires_on=today()), first)
		self.assertIsNone(frappe.db.get_value(MEMORY, first, "expires_on"))
		self.assertNotEqual(self.keep(self.other, "Prefers tea."), first)
		frappe.db.set_value(MEMORY, first, "expires_on", add_to_date(today(), days=-1))
		self.assertEqual(self.facts(self.user), [])
		frappe.db.commit()
		self.assertNotIn("tea", self.instructions(self.user))
		apply_retention(now_datetime())
		self.assertFalse(frappe.db.exists(MEMORY, first))

	def test_facts_offered_to_a_run_are_limited_in_length(self):
		for number in range(12):
			self.keep(self.user, f"{number:02} {'long ' * 80}end")
		given = self.instructions(self.user)
		self.assertLess(len(given), MAX_OFFERED_CHARS + 400)
		self.assertIn("11 long", given)

	def test_user_facts_are_not_offered_in_scheduled_or_mail_conversations(self):
		self.keep(self.user, "Prefers tea.")
		role = make_role()
		frappe.get_doc("User", self.user).add_roles(role)
		self.keep(self.user, "Monday is closed.", role=role)
		row = {"owner": "Administrator", "channel": "schedule"}
		for values in (row, {"owner": self.user, "channel": "mail"}):
			result = self.run_as(self.user, text("Hello."))
			frappe.db.set_value("Agent Conversation", result["conversation"], values)
			frappe.db.set_value(
				"Agent Run", result["run"], {"status": "Queued", "attempts": 0, "lease_until": None}
			)
			frappe.db.commit()
			self.server.script(text("Hello again."))
			work_on(result["run"])
			given = self.server.requests[-1]["messages"][0]["content"]
			self.assertNotIn("tea", given)
			self.assertIn("Monday is closed", given)
			frappe.set_user("Administrator")

	def test_deleting_an_agent_deletes_its_facts_but_not_shared_ones(self):
		agent = make_agent()
		own, shared = (
			make(MEMORY, fact="Likes tea", scope="User", agent=name).name for name in (agent, None)
		)
		frappe.delete_doc("Agent", agent)
		self.assertEqual([frappe.db.exists(MEMORY, name) for name in (own, shared)], [None, shared])

	def test_a_fact_that_needs_approval_waits_for_it(self):
		keep = make_tool("Remember", requires_approval=1)
		agent = make_agent(make_model(self.server), (keep,))
		card = self.run_as(self.user, tool_call(keep, {"fact": "Prefers tea."}), agent=agent)["draft"]
		self.assertIn("Prefers tea.", json.dumps(card["difference"]))
		self.assertFalse(frappe.db.exists(MEMORY, {"run": card["run"]}))
		with acting_as(self.user):
			approve_call(card["draft"], card["digest"])
		self.server.script(text("Noted."))
		work_on(card["run"])
		self.assertTrue(frappe.db.exists(MEMORY, {"run": card["run"], "fact": "Prefers tea."}))


class TestUntrustedMemory(MemoryTestCase):
	def setUp(self):
		super().setUp()
		self.outside = make_tool(
			"Custom Function", function_path=f"{__name__}.read_outside_text", untrusted_result=1
		)
		self.agent = make_agent(make_model(self.server), (self.outside, self.remember, self.recall))

	def test_untrusted_facts_are_not_offered_to_runs_until_a_user_trusts_them(self):
		fact = "Her account is DE02120300000000202051."
		learn = tool_call(self.remember, {"fact": fact})
		self.run_as(self.user, tool_call(self.outside, {}), learn, text("Noted."))
		name = frappe.db.get_value(MEMORY, {"user": self.user, "fact": fact})
		self.assertNotIn("DE02", self.instructions(self.user))
		found = self.run_as(self.user, tool_call(self.recall, {}), text("Found."))
		self.assertIn("DE02", self.server.requests[-1]["messages"][-1]["content"])
		self.assertIn(MEMORY, " ".join(find_origins(found["run"])))
		with acting_as(self.user):
			trust_record(MEMORY, name)
		self.assertIn("DE02", self.instructions(self.user))

	def test_sharing_a_fact_with_a_role_after_untrusted_content_needs_approval(self):
		role = make_role()
		frappe.get_doc("User", self.user).add_roles(role)
		call = tool_call(self.remember, {"fact": "Pay her.", "role": role})
		result = self.run_as(self.user, tool_call(self.outside, {}), call)
		self.assertEqual(result["status"], "Waiting", result)


class TestMemoryCanary(MemoryTestCase, McpTestCase):
	"""A reader with fewer rights finds no fact by content, count or title, by any way."""

	def test_facts_of_others_are_hidden_in_records_search_rest_and_mcp(self):
		for kind in (self.of_a_user, self.of_a_role, self.of_a_record):
			with self.subTest(kind.__name__):
				frappe.set_user("Administrator")
				canary = f"canary{frappe.generate_hash(length=12)}"
				stranger, friend = make_user("Huf User"), kind(canary)
				name = frappe.db.get_value(MEMORY, {"fact": ["like", f"%{canary}%"]})
				self.assertTrue(name)
				self.offer(canary)
				for user, finds in ((stranger, False), (friend, True)):
					for way, got in self.collect(user, name, canary).items():
						self.assertEqual(canary in got or name in got, finds, f"{way} as {user}: {got[:300]}")
				self.assertEqual(self.counts(stranger, canary), {0})
				self.assertEqual(self.counts(friend, canary), {1})

	def of_a_user(self, canary: str) -> str:
		self.keep(self.user, f"The word is {canary}")
		return self.user

	def of_a_role(self, canary: str) -> str:
		role = make_role()
		self.keep(make_user("Huf User", role), f"The word is {canary}", role=role)
		return make_user("Huf User", role)

	def of_a_record(self, canary: str) -> str:
		case = make_case(title="Roof").name
		self.keep(make_user("Huf User", EDITOR), f"The word is {canary}", doctype=CASE, name=case)
		return make_user("Huf User", READER)

	def offer(self, canary: str) -> None:
		"""All that can read facts: tools, a knowledge source of them, and resources over MCP."""
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

	def collect(self, user: str, name: str, canary: str) -> dict[str, str]:
		"""What each way returns to a user who knows the name and the words."""
		filters = quote(json.dumps([["fact", "like", f"%{canary[:8]}%"]]))
		frappe.set_user("Administrator")
		key = make_key(user)
		self.headers = {"Authorization": f"Bearer {key}:{SECRET}"}
		headers = {"Authorization": f"token {key}:{SECRET}"}
		address = f"huf://document/{quote(MEMORY, safe='')}"
		ref = {"type": "ref/resource", "uri": f"{address}/{{name}}"}

		def rest(path: str) -> str:
			answer = send(path, headers=headers)
			if answer.status_code == 200:
				return answer.get_data(as_text=True)
			refused = answer.get_data(as_text=True).replace(name, "")
			self.assertNotIn(CASE, refused)
			return refused

		def mcp(method: str, params: dict | None = None) -> str:
			answer = json.dumps(self.post(method, params).json.get("result") or {})
			return answer.replace(f"{address}/{name}", "") if method == "resources/read" else answer

		with acting_as(user):
			found = {
				"records": str(list_records(MEMORY, canary)),
				"everything": str([each for each in search_everything(canary) if each["name"] == name]),
				"recall": str(recall("word", None)),
				"knowledge": str(search_knowledge(canary, [self.source])["results"]),
			}
		found |= {
			"list": rest(f"/api/resource/{quote(MEMORY)}?filters={filters}&fields=[%22*%22]"),
			"resource": rest(f"/api/resource/{quote(MEMORY)}/{name}"),
			"link": rest(
				f"/api/method/frappe.desk.search.search_link?doctype={quote(MEMORY)}&txt={canary[:8]}"
			),
			"mcp list": mcp("resources/list"),
			"mcp get list": mcp(
				"tools/call", {"name": self.lister, "arguments": {"limit": 500, "fields": ["fact"]}}
			),
			"mcp recall": mcp(
				"tools/call", {"name": self.recall, "arguments": {"query": "word", "limit": 50}}
			),
			"mcp completion": mcp(
				"completion/complete", {"ref": ref, "argument": {"name": "name", "value": name[:5]}}
			),
			"mcp read": mcp("resources/read", {"uri": f"{address}/{name}"}),
		}
		return found

	def counts(self, user: str, canary: str) -> set[int]:
		"""How many facts with the word each count says there are."""
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
