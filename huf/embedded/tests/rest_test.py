"""From an empty site to an answered prompt with nothing but REST."""

from urllib.parse import quote

import frappe

from huf.embedded.tests.sites import SiteTestCase
from huf.tests.model_server import ModelServer, text, tool_call, usage

RUN = "/api/method/huf.ai.agent_integration.run_agent_sync"


class TestRest(SiteTestCase):
	def test_an_agent_is_set_up_and_run_over_http(self):
		with ModelServer() as server:
			self.browser = self.admin()
			self.set_up(server)
			server.script(
				tool_call("add", {"description": "Call Anna"}, usage=usage(100, 10)),
				tool_call("find", {"filters": {"status": "Open"}}, usage=usage(200, 10)),
				tool_call("find", {"limit": 1}, usage=usage(300, 10)),
				text("Done.", usage=usage(400, 20)),
				text("Still done."),
			)
			first = self.post(RUN, agent_name="Planner", prompt="Plan my day")["message"]
			again = {"prompt": "And now?", "conversation_id": first["conversation"]}
			second = self.post(RUN, agent_name="Planner", **again)["message"]
			sent = server.requests[-1]["messages"]
		self.assertEqual((first["status"], first["steps"], first["response"]), ("Success", 4, "Done."))
		self.assertEqual((first["input_tokens"], first["output_tokens"]), (1000, 50))
		self.assertAlmostEqual(first["total_cost"], (1000 * 1 + 50 * 2) / 1e6)
		self.assertEqual(len(self.rows("Agent LLM Call", first["run"])), 4)
		calls = self.rows("Agent Tool Call", first["run"])
		self.assertEqual([call["status"] for call in calls], ["Success"] * 3)
		self.assertTrue(all(call["arguments"] and call["result"] for call in calls))
		prompts = [message["content"] for message in sent if message["role"] == "user"]
		self.assertEqual((second["response"], prompts), ("Still done.", ["Plan my day", "And now?"]))
		self.assertEqual(frappe.db.count("ToDo", {"description": ["like", "%Call Anna%"]}), 1)

	def test_an_agent_s_model_and_provider_stay_consistent_over_http(self):
		self.browser = self.admin()
		for provider in ("North", "South"):
			self.post("/api/resource/AI Provider", provide_name=provider, api_key="sk-of-rest-123456")
			own = {"model_name": f"Own of {provider}", "model_id": f"own-{provider}", "provider": provider}
			self.post("/api/resource/AI Model", **own)
			shared = {"model_name": f"Shared of {provider}", "model_id": "shared", "provider": provider}
			self.post("/api/resource/AI Model", **shared)
		self.post("/api/resource/Agent", agent_name="Traveller", model="Own of North")
		self.assertEqual(self.put_agent(model="Own of South"), ("Own of South", "South"))
		both = {"model": "Shared of North", "provider": "North"}
		self.assertEqual(self.put_agent(**both), ("Shared of North", "North"))
		self.assertEqual(self.put_agent(provider="South"), ("Shared of South", "South"))
		self.put_agent(model="Own of South")
		for values in ({"provider": "North"}, {"model": "Shared of South", "provider": "North"}):
			with self.subTest(values):
				answer = self.browser.open("/api/resource/Agent/Traveller", "PUT", json=values)
				self.assertEqual(answer.status_code, 417, answer.text)
				self.assertIn("is of South, not of North. Choose a model of North", answer.text)
				self.assertEqual(self.put_agent(), ("Own of South", "South"))

	def put_agent(self, **values) -> tuple[str, str]:
		"""(model, provider) after these values were put."""
		answer = self.browser.open("/api/resource/Agent/Traveller", "PUT", json=values)
		self.assertEqual(answer.status_code, 200, answer.text)
		return answer.json["data"]["model"], answer.json["data"]["provider"]

	def set_up(self, server):
		self.post(
			"/api/resource/AI Provider",
			provide_name="Here",
			api_key="sk-of-rest-123456",
			api_base=server.base_url,
		)
		prices = {"own_prices": 1, "input_price": 1, "output_price": 2}
		self.post("/api/resource/AI Model", model_name="scripted", provider="Here", **prices)
		tool = {"reference_doctype": "ToDo", "description": "To-dos"}
		self.post("/api/resource/Agent Tool Function", tool_name="add", types="Create Document", **tool)
		self.post("/api/resource/Agent Tool Function", tool_name="find", types="Get List", **tool)
		tools = [{"tool": "add"}, {"tool": "find"}]
		self.post("/api/resource/Agent", agent_name="Planner", model="scripted", agent_tool=tools)

	def post(self, path, **body):
		answer = self.browser.post(path, json=body)
		self.assertEqual(answer.status_code, 200, answer.text)
		return answer.json

	def rows(self, doctype, run):
		query = f'filters=[["run","=","{run}"]]&fields=["status","arguments","result"]'
		if doctype == "Agent LLM Call":
			query = f'filters=[["run","=","{run}"]]'
		return self.browser.open(f"/api/resource/{quote(doctype)}?{query}").json["data"]
