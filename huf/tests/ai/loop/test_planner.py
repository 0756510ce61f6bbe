"""The planner calls tools for models that cannot, over real HTTP, and handles faulty plans."""

import json
from os.path import commonprefix

import frappe
from jsonschema import Draft202012Validator

from huf.ai.core.events import EventKind
from huf.ai.core.types import AgentRequest, Effect, Tool
from huf.ai.loop.guards import SUM_UP
from huf.ai.loop.plan_prompts import ANSWER, to_conversation
from huf.ai.loop.planner import make_request, parse_plan, plan_schema, shorten_tools
from huf.ai.queries.event_stream import replay_events
from huf.ai.queries.runs import read_tool_results
from huf.ai.runs.entry import run_agent_sync, stream_agent
from huf.ai.tools.registry import tool
from huf.tests.base import SiteTestCase, enter
from huf.tests.factories import make_agent, make_model, make_tool
from huf.tests.model_server import ModelServer, error, text, usage

EXAMPLE = {
	"tool": "sales_report_tool",
	"reason": "It wants sales.",
	"arguments": {"region": "EMEA", "year": 2024},
}


@tool()
def count_boxes() -> dict:
	return {"boxes": [{"size": 3, "label": None}], "note": "", "found": False, "more": False}


class TestPlans(SiteTestCase):
	def setUp(self):
		super().setUp()
		self.server = enter(self, ModelServer())
		self.tool = make_tool("Get List", reference_doctype="ToDo", description="Lists todos")

	def run_agent(self, *answers, agent=None, **values):
		self.server.script(*answers)
		self.agent = agent or make_agent(make_model(self.server), (self.tool,), tool_mode="Planner", **values)
		return run_agent_sync(self.agent, "How many todos?", external_id=frappe.generate_hash(length=8))

	def plan(self, tool: str, **arguments):
		return text(json.dumps({"tool": tool, "reason": "Why not.", "arguments": arguments}))

	def test_a_plan_is_executed_and_the_answer_call_gets_its_results(self):
		result = self.run_agent(self.plan(self.tool, limit=1), self.plan("none"), text("There are some."))
		self.assertEqual(
			(result["status"], result["response"], result["steps"]), ("Success", "There are some.", 2)
		)
		[call] = read_tool_results(result["run"])
		self.assertEqual(
			(set(call), call["tool"], call["arguments"]["limit"]),
			({"tool", "arguments", "result"}, self.tool, 1),
		)
		planning, replanning, answering = (each["messages"] for each in self.server.requests)
		self.assertTrue(all("tools" not in each for each in self.server.requests))
		for messages in (planning, replanning, answering):
			self.assertEqual([each["role"] for each in messages], ["system", "user"])
			self.assertIn(f"- {self.tool}: Lists todos. Arguments: {{", messages[0]["content"])
			self.assertTrue(messages[1]["content"].startswith("Request: How many todos?"))
		for message in (replanning[1], answering[1]):
			[result] = [each for each in message["content"].splitlines() if each.startswith('{"tool": "tool')]
			self.assertEqual(json.loads(result)["tool"], self.tool)

	def test_later_prompts_begin_with_earlier_ones_for_prompt_caching(self):
		self.run_agent(self.plan(self.tool, limit=1), self.plan("none"), text("There are some."))
		conversation = frappe.get_last_doc("Agent Conversation", {"agent": self.agent}).name
		self.server.script(self.plan("none"), text("As I said."))
		run_agent_sync(self.agent, "And now?", conversation_id=conversation)
		prompts = [json.dumps(each["messages"])[:-3] for each in self.server.requests]
		answers = [prompts[2], prompts[4]]
		self.assertIn("Request: How many todos?", commonprefix(prompts))
		self.assertIn("Tool results:", commonprefix(prompts[1:]))
		# The prompt of a plan is that of the answer plus one sentence.
		self.assertTrue(prompts[1].startswith(answers[0]))
		self.assertTrue(prompts[3].startswith(answers[1]))
		self.assertTrue(prompts[3].startswith(answers[0]))

	def test_a_plan_that_repeats_the_call_just_made_leads_to_an_answer(self):
		plan = self.plan(self.tool, limit=1)
		result = self.run_agent(plan, plan, text("There are some."))
		self.assertEqual((result["status"], result["response"]), ("Success", "There are some."))
		self.assertEqual(len(read_tool_results(result["run"])), 1)

	def test_a_call_that_failed_may_be_planned_again(self):
		invalid = self.plan(self.tool, limit="many")
		result = self.run_agent(invalid, invalid, self.plan("none"), text("Sorry."))
		self.assertEqual(frappe.db.count("Agent Tool Call", {"run": result["run"]}), 2)

	def test_the_reason_of_a_plan_is_on_the_call_and_in_the_stream(self):
		self.server.script(self.plan(self.tool, limit=1), self.plan("none"), text("There are some."))
		agent = make_agent(make_model(self.server), (self.tool,), tool_mode="Planner")
		events = [
			each
			for each in stream_agent(AgentRequest(agent, "How many?", "Administrator", channel="s"))
			if each
		]
		[started] = [each for each in events if each.kind is EventKind.TOOL_STARTED]
		run = events[-1].run
		self.assertEqual(started.data["reason"], "Why not.")
		self.assertEqual(frappe.db.get_value("Agent Tool Call", {"run": run}, "reason"), "Why not.")
		[replayed] = [each for each in replay_events(run) if each.kind is EventKind.TOOL_STARTED]
		self.assertEqual(replayed.data["reason"], "Why not.")

	def test_plan_and_answer_are_one_step_with_summed_usage(self):
		result = self.run_agent(self.plan("none"), text("Hello."))
		self.assertEqual((result["steps"], result["input_tokens"], result["output_tokens"]), (1, 200, 20))

	def test_usage_of_a_plan_counts_even_if_the_answer_call_fails(self):
		plan = text(json.dumps({"tool": "none"}), usage=usage(50, 5))
		result = self.run_agent(plan, error(429, "slow down"), plan, text("None.", usage=usage(40, 2)))
		self.assertEqual(
			(result["status"], result["input_tokens"], result["output_tokens"]), ("Success", 140, 12)
		)

	def test_at_the_step_cap_the_planner_asks_for_a_summary(self):
		plans = [self.plan(self.tool, limit=number) for number in (1, 2, 3)]
		result = self.run_agent(*plans, text("Three so far."), max_iterations=3)
		self.assertEqual((result["stop_reason"], len(read_tool_results(result["run"]))), ("max_steps", 3))
		last = self.server.requests[-1]["messages"]
		self.assertEqual({each["role"] for each in last}, {"system", "user"})
		self.assertEqual(last[-1]["content"], f"Request: {SUM_UP}")
		# The prompt begins like that of a plan, so that the server has it cached.
		plan = self.server.requests[-2]["messages"]
		self.assertEqual(last[0], plan[0])
		self.assertTrue(last[1]["content"].startswith(plan[1]["content"].rpartition("\n\n")[0]))

	def test_unknown_tools_and_invalid_arguments_are_returned_as_results(self):
		broken = text(f'{{"tool": "{self.tool}", "arguments": {{"limit": 1')
		invalid = self.plan(self.tool, limit="many")
		result = self.run_agent(self.plan("nothing"), invalid, broken, text("Sorry."))
		self.assertEqual(result["response"], "Sorry.")
		rows = frappe.get_all("Agent Tool Call", {"run": result["run"]}, ["status"], order_by="step asc")
		self.assertEqual([row.status for row in rows], ["Refused"] * 3)
		message = self.server.requests[-1]["messages"][1]["content"]
		for reason in ("There is no tool 'nothing'", "do not fit", "not valid JSON"):
			self.assertIn(reason, message)

	def test_prose_instead_of_a_plan_leads_to_an_answer(self):
		self.assertEqual(self.run_agent(text("I think so."), text("Yes."))["response"], "Yes.")

	def test_the_conversation_is_sent_as_text_without_tool_calls(self):
		self.run_agent(self.plan(self.tool, limit=1), self.plan("none"), text("One."))
		conversation = frappe.get_last_doc("Agent Conversation", {"agent": self.agent}).name
		self.server.script(self.plan("none"), text("As I said."))
		run_agent_sync(self.agent, "And now?", conversation_id=conversation)
		messages = [each for each in self.server.requests[-1]["messages"] if each["role"] != "system"]
		first, *others = [each["content"] for each in messages]
		self.assertTrue(first.startswith("Request: How many todos?\n\nTool results:"))
		self.assertEqual(others, ["One.", "Request: And now?"])

	def test_models_without_tool_calls_use_plans_except_in_native_mode(self):
		model = make_model(self.server, without_tool_calls=1)
		for mode, tools in (("Automatic", False), ("Native", True)):
			agent = make_agent(model, (self.tool,), tool_mode=mode)
			self.run_agent(*([text("Hi.")] if tools else [self.plan("none"), text("Hi.")]), agent=agent)
			self.assertEqual("tools" in self.server.requests[-1], tools)

	def test_an_agent_without_tools_plans_nothing(self):
		agent = make_agent(make_model(self.server), tool_mode="Planner")
		self.assertEqual(self.run_agent(text("Hi."), agent=agent)["response"], "Hi.")

	def test_personal_data_is_hidden_from_the_planner_and_real_in_its_calls(self):
		self.run_agent(self.plan("none"), text("Done."), mask_personal_data=1)
		filters = {"filters": {"description": ["like", "[EMAIL-1]"]}}
		self.server.script(
			text(json.dumps({"tool": self.tool, "arguments": filters})), self.plan("none"), text("None.")
		)
		result = run_agent_sync(
			self.agent, "Todos of anna@example.com?", external_id=frappe.generate_hash(length=8)
		)
		self.assertEqual(
			read_tool_results(result["run"])[0]["arguments"]["filters"]["description"][1], "anna@example.com"
		)
		self.assertNotIn("anna@example.com", json.dumps(self.server.requests[-3:]))

	def test_a_token_limit_caps_both_the_plan_call_and_the_answer_call(self):
		self.run_agent(self.plan("none"), text("Hi."), daily_token_limit=20_000)
		plan, answer = self.server.requests
		self.assertLess(plan["max_tokens"], 20_000)
		self.assertLess(answer["max_tokens"], 20_000)


class TestReading(SiteTestCase):
	def test_a_plan_is_parsed_from_json_code_blocks_and_prose(self):
		for output in (
			json.dumps(EXAMPLE),
			f"```json\n{json.dumps(EXAMPLE)}\n```",
			f"Here is my plan: {json.dumps(EXAMPLE)} Good luck!",
			json.dumps(EXAMPLE | {"arguments": json.dumps(EXAMPLE["arguments"])}),
			json.dumps([EXAMPLE, {"tool": "another_tool", "arguments": {}}]),
			f'{json.dumps(EXAMPLE)}\n{{"tool": "another_tool", "arguments": {{}}}}',
		):
			request = make_request(parse_plan(output))
			self.assertEqual(request.name, "sales_report_tool", output)
			self.assertEqual(json.loads(request.arguments), {"region": "EMEA", "year": 2024}, output)

	def test_none_null_and_empty_plans_are_no_call(self):
		for output in (
			'{"tool": "none"}',
			'{"tool": "None", "arguments": {"a": 1}}',
			'{"tool": null}',
			"{}",
			"",
			"No.",
		):
			self.assertIsNone(make_request(parse_plan(output)), output)

	def test_results_are_sent_as_json_with_tool_arguments_and_result(self):
		call = {"id": "1", "type": "function", "function": {"name": "a", "arguments": '{"b": 1}'}}
		messages = [
			{"role": "assistant", "content": None, "tool_calls": [call]},
			{"role": "tool", "tool_call_id": "1", "content": '{"c": 2}'},
		]
		system, message = to_conversation(messages, ANSWER)
		self.assertEqual(len(to_conversation([messages[0], {**messages[1], "content": ""}], ANSWER)), 2)
		self.assertEqual(system["content"], ANSWER)
		self.assertEqual(
			json.loads(message["content"].splitlines()[-1]),
			{"tool": "a", "arguments": {"b": 1}, "result": {"c": 2}},
		)


class TestSchemas(SiteTestCase):
	def setUp(self):
		super().setUp()
		self.server = enter(self, ModelServer())
		self.tool = make_tool("Get List", reference_doctype="ToDo", description="Lists todos. Say which.")
		self.tools: tuple[str, ...] = (self.tool,)

	def run_agent(self, *answers, **model):
		self.server.script(*answers)
		agent = make_agent(make_model(self.server, **model), self.tools, tool_mode="Planner")
		return run_agent_sync(agent, "How many todos?")

	def test_the_response_schema_limits_plans_to_tools_and_their_arguments(self):
		self.run_agent(text('{"tool": "none"}'), text("Hello."))
		plan, answer = self.server.requests
		schema = plan["response_format"]["json_schema"]["schema"]
		listed, none = (each["properties"] for each in schema["anyOf"])
		self.assertEqual((listed["tool"], none["tool"]), ({"const": self.tool}, {"const": "none"}))
		self.assertIn("limit", listed["arguments"]["properties"])
		self.assertEqual(("reason" in listed, "reason" in none), (True, False))
		self.assertNotIn("response_format", answer)

	def test_a_server_that_refuses_the_schema_gets_none_in_later_calls(self):
		refusal = error(400, "response_format is not supported")
		plan = text(json.dumps({"tool": self.tool, "arguments": {"limit": 1}}))
		result = self.run_agent(refusal, plan, text('{"tool": "none"}'), text("One."))
		self.assertEqual((result["status"], result["response"]), ("Success", "One."))
		self.assertEqual(
			["response_format" in each for each in self.server.requests], [True, False, False, False]
		)

	def test_tools_are_described_briefly_where_the_window_is_small(self):
		self.run_agent(text('{"tool": "none"}'), text("Hello."), context_window=2048)
		plan = self.server.requests[0]
		self.assertIn(f"- {self.tool}: Lists todos.\n", plan["messages"][0]["content"])
		self.assertNotIn("reason", json.dumps(plan))

	def test_few_optional_arguments_are_offered_where_the_window_is_small(self):
		self.tools = (make_tool("Create Document", reference_doctype="ToDo"), self.tool)
		self.assertEqual(self.list_offered_arguments(2_048), [{"description"}, set()])
		created, listed = self.list_offered_arguments(32_000)
		self.assertLessEqual({"description", "date", "priority"}, created)
		self.assertLessEqual({"filters", "fields", "order_by", "limit", "start"}, listed)

	def list_offered_arguments(self, window: int) -> list[set[str]]:
		"""The names of each tool's arguments in a plan's schema."""
		self.run_agent(text('{"tool": "none"}'), text("Hello."), context_window=window)
		plans = self.server.requests[-2]["response_format"]["json_schema"]["schema"]["anyOf"]
		calls = [each["properties"] for each in plans if each["properties"]["tool"] != {"const": "none"}]
		return [set(each.get("arguments", {}).get("properties", ())) for each in calls]

	def test_a_plan_that_needs_no_more_tools_is_followed_by_the_answer(self):
		path = f"{__name__}.count_boxes"
		self.tools = (name := make_tool("Custom Function", function_path=path, effect="read"),)
		plan_text = json.dumps({"tool": name, "more": False})
		result = self.run_agent(text(plan_text), text("None."), context_window=2048)
		self.assertEqual((result["response"], result["steps"]), ("None.", 2))
		plan, answer = self.server.requests
		more = [
			each["properties"].get("more")
			for each in plan["response_format"]["json_schema"]["schema"]["anyOf"]
		]
		self.assertEqual(more, [{"type": "boolean"}, None])
		# Unset values are left out of the result.
		described = json.loads(answer["messages"][1]["content"].splitlines()[-1])
		self.assertEqual(described, {"tool": name, "result": {"boxes": [{"size": 3}], "found": False}})

	def test_more_tools_or_a_failed_call_are_followed_by_a_plan(self):
		for first in ({"more": True}, {"more": False, "arguments": {"limit": "many"}}):
			planned = text(json.dumps({"tool": self.tool, **first}))
			result = self.run_agent(planned, text('{"tool": "none"}'), text("None."), context_window=2048)
			self.assertEqual(result["response"], "None.", first)

	def test_required_properties_missing_from_a_schema_are_ignored(self):
		schema = {"type": "object", "properties": {"a": {}, "b": {}}, "required": ["a", "missing"]}
		(tool,) = shorten_tools([Tool("write", "", schema, Effect.WRITE, None)])
		self.assertEqual(tool.parameters["properties"], {"a": {}})

	def test_references_of_a_tool_are_resolved_from_the_root_of_the_plan(self):
		tools = []
		for name, kind in (("greet", "string"), ("count", "integer")):
			node = {"type": "object", "properties": {"of": {"$ref": "#/$defs/Node"}, "value": {"type": kind}}}
			schema = {
				"type": "object",
				"properties": {"node": {"$ref": "#/$defs/Node"}},
				"$defs": {"Node": node},
			}
			tools.append(Tool(name, "", schema, Effect.WRITE, None))
		plans = Draft202012Validator(plan_schema(tools, False))
		for name, value, is_valid in (("greet", "x", True), ("count", "x", False), ("count", 1, True)):
			plan = {"tool": name, "arguments": {"node": {"of": {"value": value}}}}
			self.assertEqual(plans.is_valid(plan), is_valid, plan)
