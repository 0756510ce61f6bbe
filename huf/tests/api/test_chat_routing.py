"""The router's endpoints over HTTP, with the documented requests and responses."""

import json

import frappe

from huf.ai.core.session import acting_as
from huf.ai.core.types import AgentRequest
from huf.ai.routing.router import MAX_MODEL_CHARS
from huf.ai.runs import stopping
from huf.ai.runs.start import start_run
from huf.api import addresses
from huf.tests.base import SiteTestCase, keep_default_model
from huf.tests.factories import make_agent, make_file, make_model, make_tool, make_user, remove_stops, unique
from huf.tests.http import post, send
from huf.tests.model_server import ModelServer, error, text, tool_call

ROUTE, RUN, CHECK = (f"/api/chat/{name}" for name in ("route", "agent-run", "escalation-check"))
DOUBTFUL = "what is bitcoin trading at"
ANSWER = "El precio actual del bitcoin es..."


class RoutingTestCase(SiteTestCase):
	def setUp(self):
		super().setUp()
		self.user = make_user("Huf User")
		doc = frappe.get_doc("User", self.user)
		doc.api_key, doc.api_secret = frappe.generate_hash(length=15), "secret-of-this-test"
		doc.save()
		self.headers = {"Authorization": f"token {doc.api_key}:secret-of-this-test"}
		self.addCleanup(self.set_settings, router_agent=None, max_steps=8, enable_dynamic_escalation=1)

	def set_settings(self, **values):
		frappe.get_doc("Huf Settings").update(values).save()
		frappe.db.commit()

	def ask(self, path: str, body):
		return post(path, json=body, headers=self.headers)

	def use_agent(self, server, **values) -> str:
		self.tool = make_tool("Get List", reference_doctype="ToDo")
		agent = make_agent(make_model(server), (self.tool,), **values)
		self.set_settings(router_agent=agent)
		return agent


class TestRoute(RoutingTestCase):
	def test_documented_route_example_returns_the_exact_response(self):
		answer = self.ask(ROUTE, {"message": "Busca el precio del bitcoin hoy", "hasAttachments": False})
		self.assertEqual(answer.status_code, 200)
		self.assertEqual(
			answer.json,
			{
				"route": "agent",
				"confidence": 0.9,
				"reasons": ["Requiere búsqueda web"],
				"tool_needs": ["web_search"],
				"plan_hint": ["Buscar información en la web", "Generar respuesta final"],
			},
		)

	def test_has_attachments_is_optional_and_adds_read_file(self):
		self.assertEqual(self.ask(ROUTE, {"message": "¿Qué te parece?"}).json["route"], "chat")
		body = {"message": "¿Qué te parece?", "hasAttachments": True}
		self.assertEqual(self.ask(ROUTE, body).json["tool_needs"], ["read_file"])

	def test_route_is_callable_as_a_method_and_with_a_trailing_slash(self):
		body = {"message": "hola"}
		for path in ("/api/method/huf.api.chat.route", f"{ROUTE}/"):
			self.assertEqual(self.ask(path, body).json["route"], "chat")

	def test_failing_router_falls_back_to_chat_with_confidence_0_5(self):
		doc = frappe.get_doc("Huf Settings")
		row = {"pattern": "kaputt", "route": "agent", "confidence": 0.9}
		doc.append("route_patterns", row)
		doc.save()
		self.addCleanup(self.set_settings, route_patterns=[])
		# An invalid regular expression, which validation would refuse, can only be set in the database.
		frappe.db.set_value("Agent Route Pattern", doc.route_patterns[-1].name, "pattern", "(")
		frappe.clear_document_cache("Huf Settings", "Huf Settings")
		answer = self.ask(ROUTE, {"message": "hola"}).json
		self.assertRegex(answer.pop("reasons")[0], "^Router fallback due to error: ")
		expected = {"route": "chat", "confidence": 0.5, "tool_needs": [], "plan_hint": []}
		self.assertEqual(answer, expected)

	def test_invalid_request_body_is_refused_with_the_reason(self):
		wrong = (
			(ROUTE, {}, "message is missing"),
			(ROUTE, {"message": " "}, "message is empty"),
			(ROUTE, {"message": 7}, "message is missing or not a string"),
			(ROUTE, {"message": "hola", "hasAttachments": "maybe"}, "hasAttachments"),
			(RUN, {"planHint": []}, "message is missing"),
			(RUN, {"message": "hola", "planHint": "one"}, "planHint must be a list"),
			(CHECK, {"draft": "x"}, "response is missing"),
		)
		for path, body, reason in wrong:
			with self.subTest(path, body=body):
				answer = self.ask(path, body)
				self.assertEqual((answer.status_code, answer.json["code"]), (400, "BAD_REQUEST"))
				self.assertIn(reason, answer.json["error"])

	def test_user_without_a_huf_role_is_refused_without_a_model_call(self):
		with ModelServer() as server:
			keep_default_model(self)
			self.set_settings(default_model=make_model(server))
			doc = frappe.get_doc("User", self.user)
			doc.update({"roles": [], "user_type": "Website User"}).save()
			frappe.db.commit()
			before = frappe.db.count("Agent Route Decision")
			answer = self.ask(ROUTE, {"message": DOUBTFUL})
			self.assertEqual((answer.status_code, answer.json["code"]), (403, "NOT_PERMITTED"))
			self.assertEqual((frappe.db.count("Agent Route Decision"), server.requests), (before, []))

	def test_doubtful_message_is_truncated_for_the_routing_model(self):
		with ModelServer() as server:
			keep_default_model(self)
			self.set_settings(default_model=make_model(server))
			server.script(text('{"route": "chat", "confidence": 0.9}'))
			answer = self.ask(ROUTE, {"message": DOUBTFUL + " " * 100_000}).json
			self.assertEqual((answer["route"], answer["confidence"]), ("chat", 0.9))
			self.assertEqual(len(server.requests[0]["messages"][-1]["content"]), MAX_MODEL_CHARS)

	def test_guests_get_requests_and_foreign_conversations_are_refused(self):
		self.assertEqual(post(ROUTE, json={"message": "hola"}).status_code, 403)
		self.assertEqual(send(ROUTE, method="GET", headers=self.headers).status_code, 403)
		other = frappe.get_doc(
			{"doctype": "Agent Conversation", "agent": make_agent(), "title": "Mine"}
		).insert()
		self.set_settings(router_agent=make_agent(disabled=1))
		for path in (ROUTE, RUN):
			answer = self.ask(path, {"message": "hola", "conversationId": other.name})
			self.assertEqual((answer.status_code, answer.json["code"]), (403, "NOT_PERMITTED"))


class TestAgentRun(RoutingTestCase):
	BODY = {
		"message": "Investiga el precio actual del bitcoin",
		"planHint": ["Buscar precio", "Extraer datos", "Responder"],
	}

	def test_attachments_reach_the_agent_and_the_route_decision(self):
		with ModelServer() as server:
			self.use_agent(server)
			server.script(text("Tea."))
			body = {
				"message": unique("¿Qué te parece?"),
				"attachments": [make_file("a.md", unique("Tea"), self.user)],
			}
			self.assertEqual(self.ask(RUN, body).json["result"], "Tea.")
			self.assertRegex(server.requests[0]["messages"][-1]["content"], r"File a\w*\.md:")
		decided = frappe.get_last_doc("Agent Route Decision", {"message": body["message"]})
		self.assertEqual(decided.has_attachments, 1)

	def test_documented_agent_run_example_returns_the_exact_response(self):
		with ModelServer() as server:
			self.use_agent(server)
			server.script(tool_call(self.tool, {}), text(ANSWER))
			answer = self.ask(RUN, self.BODY)
		self.assertEqual(answer.status_code, 200, answer.json)
		run = answer.json["run_id"]
		self.assertEqual(
			answer.json,
			{
				"success": True,
				"run_id": run,
				"result": ANSWER,
				"state": {
					"objective": self.BODY["message"],
					"plan": self.BODY["planHint"],
					"toolsUsed": [self.tool],
					"stepsCompleted": 2,
					"status": "completed",
				},
			},
		)
		row = frappe.get_doc("Agent Run", run)
		self.assertEqual((row.run_as, row.route, row.prompt), (self.user, "agent", self.BODY["message"]))
		self.assertIn("2. Extraer datos", server.requests[0]["messages"][-1]["content"])

	def test_plan_hint_follows_the_user_message_and_is_masked(self):
		with ModelServer() as server:
			self.use_agent(server, mask_personal_data=1)
			server.script(text(ANSWER))
			self.ask(RUN, {"message": "Write to anna@example.com", "planHint": ["Write to bob@example.com"]})
		system, prompt = (each["content"] for each in server.requests[0]["messages"])
		self.assertIn("You are an agent under test.", system)
		self.assertNotIn("Write to", system)
		self.assertIn("1. Write to [EMAIL-", prompt)
		self.assertNotIn("example.com", prompt)

	def test_missing_plan_hint_is_filled_from_the_route_decision(self):
		with ModelServer() as server:
			self.use_agent(server)
			server.script(text(ANSWER))
			self.ask(ROUTE, {"message": "Busca el precio del bitcoin hoy"})
			answer = self.ask(RUN, {"message": "Busca el precio del bitcoin hoy"}).json
		plan = ["Buscar información en la web", "Generar respuesta final"]
		self.assertEqual(answer["state"]["plan"], plan)
		self.assertEqual(frappe.db.get_value("Agent Run", answer["run_id"], "confidence"), 0.9)

	def test_failed_run_returns_500_with_error_code_and_suggestion(self):
		with ModelServer() as server:
			self.use_agent(server)
			server.script(error(401, "bad key"))
			answer = self.ask(RUN, self.BODY)
		self.assertEqual(answer.status_code, 500)
		self.assertEqual(sorted(answer.json), ["code", "error", "suggestion"])
		self.assertEqual(answer.json["code"], "AGENT_RUN_ERROR")
		run = frappe.get_last_doc("Agent Run", {"run_as": self.user})
		self.assertEqual((run.status, run.error_message), ("Failed", answer.json["error"]))
		self.assertIn(run.name, answer.json["suggestion"])

	def test_max_steps_returns_a_warning_and_the_partial_answer(self):
		self.set_settings(max_steps=1)
		with ModelServer() as server:
			self.use_agent(server)
			server.script(tool_call(self.tool, {}), text("One so far."))
			answer = self.ask(RUN, self.BODY)
		self.assertEqual((answer.status_code, answer.json["success"]), (200, False))
		warning = "[WARNING: Max steps (1) reached. Response may be incomplete.]"
		self.assertEqual(answer.json["result"], f"{warning}\n\nOne so far.")
		self.assertEqual(answer.json["state"]["stepsCompleted"], 1)
		self.assertEqual(answer.json["state"]["status"], "failed")

	def test_repeatedly_failing_tool_aborts_the_run_with_its_name(self):
		with ModelServer() as server:
			self.use_agent(server)
			server.script(*[tool_call(self.tool, {"filters": {"no_such_field": n}}) for n in range(2)])
			answer = self.ask(RUN, self.BODY)
		self.assertEqual(answer.status_code, 500)
		self.assertEqual(answer.json["error"], f"Tool {self.tool} failed 2 consecutive times. Aborting run.")

	def test_run_that_waits_for_approval_returns_202(self):
		with ModelServer() as server:
			tool = make_tool("Create Document", reference_doctype="ToDo", requires_approval=1)
			self.set_settings(router_agent=make_agent(make_model(server), (tool,)))
			server.script(tool_call(tool, {"description": "Call Anna", "allocated_to": self.user}))
			answer = self.ask(RUN, self.BODY)
		self.assertEqual((answer.status_code, answer.json["success"]), (202, False))
		self.assertEqual(answer.json["state"]["status"], "waiting")
		self.assertIn("approves", answer.json["result"]["error"])

	def test_queued_run_returns_202_with_status_waiting(self):
		self.addCleanup(remove_stops)
		with ModelServer() as server:
			agent = self.use_agent(server)
			with acting_as(self.user):
				busy = start_run(AgentRequest(agent, "Busy", self.user)).conversation
			queued = self.ask(RUN, {**self.BODY, "conversationId": busy})
			stopping.stop("Tool", self.tool)
			server.script(tool_call(self.tool, {}))
			held = self.ask(RUN, self.BODY)
		for answer, reason in ((queued, "is queued"), (held, "was stopped")):
			self.assertEqual((answer.status_code, answer.json["success"]), (202, False))
			self.assertEqual(answer.json["state"]["status"], "waiting")
			self.assertIn(reason, answer.json["result"]["error"])
			self.assertEqual(frappe.db.get_value("Agent Run", answer.json["run_id"], "status"), "Queued")

	def test_an_agent_run_sent_again_with_its_idempotency_key_runs_once(self):
		body = {"message": self.BODY["message"], "idempotency_key": frappe.generate_hash(length=32)}
		with ModelServer() as server:
			self.use_agent(server)
			server.script(tool_call(self.tool, {}), text(ANSWER))
			first, again = (self.ask(RUN, body) for _attempt in range(2))
		self.assertEqual((again.status_code, again.json), (200, first.json))
		self.assertTrue(first.json["state"]["plan"])
		decisions = {"message": body["message"], "owner": self.user}
		self.assertEqual(frappe.db.count("Agent Route Decision", decisions), 1)
		refused = self.ask(RUN, {**body, "idempotency_key": "short"})
		self.assertEqual((refused.status_code, refused.json["code"]), (409, "CANNOT_RUN"))

	def test_a_queued_or_waiting_agent_run_sent_again_is_described_as_before(self):
		with ModelServer() as server:
			tool = make_tool("Create Document", reference_doctype="ToDo", requires_approval=1)
			agent = make_agent(make_model(server), (tool,))
			self.set_settings(router_agent=agent)
			server.script(tool_call(tool, {"description": "Call Anna", "allocated_to": self.user}))
			with acting_as(self.user):
				busy = start_run(AgentRequest(agent, "Busy", self.user)).conversation
			for values in ({}, {"conversationId": busy}):
				body = {**self.BODY, **values, "idempotency_key": frappe.generate_hash(length=32)}
				first, again = (self.ask(RUN, body) for _attempt in range(2))
				self.assertEqual((again.status_code, again.json), (202, first.json))

	def test_agent_run_without_a_usable_agent_is_refused(self):
		with ModelServer() as server:
			agent = self.use_agent(server, roles=[{"role": "System Manager"}])
			answer = self.ask(RUN, self.BODY)
		self.assertEqual((answer.status_code, answer.json["code"]), (403, "NOT_PERMITTED"))
		self.assertNotIn(agent, answer.get_data(as_text=True))
		self.set_settings(router_agent=None)
		for agent in frappe.get_all("Agent", {"allow_chat": 1}, pluck="name", order_by="name asc"):
			frappe.db.set_value("Agent", agent, "allow_chat", 0)
			self.addCleanup(frappe.db.set_value, "Agent", agent, "allow_chat", 1)
		self.addCleanup(frappe.db.commit)
		answer = self.ask(RUN, self.BODY)
		self.assertEqual((answer.status_code, answer.json["code"]), (409, "CANNOT_RUN"))
		self.assertIn("Huf Settings", answer.json["error"])


class TestEscalationCheck(RoutingTestCase):
	def test_documented_escalation_example_returns_the_exact_response(self):
		answer = self.ask(CHECK, {"response": "Necesito buscar información actualizada para responder."})
		self.assertEqual(answer.json, {"shouldEscalate": True, "reason": "Necesita búsqueda web"})

	def test_complete_answer_is_not_escalated(self):
		self.assertEqual(self.ask(CHECK, {"response": "Son las doce."}).json, {"shouldEscalate": False})

	def test_escalation_check_can_be_disabled_in_the_settings(self):
		self.set_settings(enable_dynamic_escalation=0)
		answer = self.ask(CHECK, {"response": "Necesito buscar información actualizada para responder."})
		self.assertEqual(answer.json, {"shouldEscalate": False})


class TestAddresses(SiteTestCase):
	def test_every_address_leads_to_a_whitelisted_function(self):
		for address, function in addresses.ADDRESSES:
			self.assertIn(frappe.get_attr(function), frappe.whitelisted, address)

	def test_only_paths_of_the_address_table_are_rewritten(self):
		self.assertEqual(addresses.find_function("/api/chat/route/"), "huf.api.chat.route")
		for path in ("/api/chat", "/api/chat/route/more", "/api/resource/ToDo", "/", "/huf"):
			self.assertIsNone(addresses.find_function(path))
		self.assertTrue(addresses.matches("/v1/*", "/v1/models"))
		self.assertFalse(addresses.matches("/v1/*", "/v10"))

	def test_unknown_api_path_returns_404(self):
		self.assertEqual(post("/api/chat/nothing", json={}).status_code, 404)
		self.assertIn("exc_type", json.loads(post("/api/chat/nothing", json={}).get_data()))
