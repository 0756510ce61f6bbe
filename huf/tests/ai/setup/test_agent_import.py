"""Exports of n8n and Agent Builder become agents, with a report of what has no equivalent."""

import json
import time

import frappe

from huf.ai.core.errors import UsageError
from huf.ai.setup.agent_import import N8N_AGENT, import_agents, parse_export
from huf.tests.agent_exports import BUILDER, make_workflow
from huf.tests.base import SiteTestCase, enter
from huf.tests.factories import make_model, make_user, unique
from huf.tests.model_server import ModelServer


class TestImport(SiteTestCase):
	def test_a_workflow_of_n8n_becomes_an_agent_with_its_model(self):
		model = unique("gpt-test")
		stored = make_model(enter(self, ModelServer()), model_id=model)
		report = import_agents(json.dumps(make_workflow(model)))
		(made,) = report["agents"]
		doc = frappe.get_doc("Agent", made["name"])
		self.assertEqual(doc.instructions, "You know orders. Today is {{ $now }}.")
		self.assertEqual((doc.model, doc.max_iterations, doc.max_tokens), (stored, 7, 500))
		self.assertEqual(doc.temperature, 0.2)
		lines = "\n".join(made["unmapped"])
		for part in (
			"not evaluated",
			"$json.chatInput",
			"Memory (memoryBufferWindow)",
			"Look up (toolHttpRequest)",
			"options.timeout",
		):
			self.assertIn(part, lines)
		self.assertEqual(report["unmapped"], ["When a message comes (chatTrigger)"])

	def test_the_prompt_of_an_agent_without_a_system_message_becomes_its_instructions(self):
		for prompt, instructions in (
			("=Find the address of {{ $json.company }}.", "Find the address of {{ $json.company }}."),
			("={{ $json.chatInput }}", ""),
		):
			parameters = {"promptType": "define", "text": prompt}
			node = {"name": "Research", "type": N8N_AGENT, "parameters": parameters}
			((agent,), _) = parse_export(json.dumps({"nodes": [node], "connections": {}}))
			with self.subTest(prompt):
				self.assertEqual(agent.instructions, instructions)
				self.assertEqual(len(agent.unmapped), 1)

	def test_an_agent_that_is_turned_off_stays_off(self):
		node = {"name": unique("Off"), "type": N8N_AGENT, "disabled": True}
		(made,) = import_agents(json.dumps({"nodes": [node], "connections": {}}))["agents"]
		self.assertEqual(made["settings"], {"disabled": 1})
		self.assertEqual(frappe.db.get_value("Agent", made["name"], "disabled"), 1)

	def test_duplicate_name_is_changed_and_missing_model_is_reported(self):
		workflow = json.dumps(make_workflow("no-such-model"))
		first, second = (import_agents(workflow)["agents"][0] for _ in range(2))
		self.assertNotEqual(first["name"], second["name"])
		self.assertIsNone(first["model"])
		self.assertIn("no-such-model is not connected", first["unmapped"][-1])

	def test_dry_run_creates_no_agents(self):
		before = frappe.db.count("Agent")
		self.assertEqual(len(import_agents(BUILDER, is_dry_run=True)["agents"]), 2)
		self.assertEqual(frappe.db.count("Agent"), before)

	def test_invalid_agent_fails_dry_run_and_import_and_creates_nothing(self):
		text = BUILDER.replace("temperature=0.5", "temperature=7")
		before = frappe.db.count("Agent")
		for is_dry_run in (True, False):
			with self.assertRaises(frappe.ValidationError):
				import_agents(text.replace("sort =", "last ="), is_dry_run)
			self.assertEqual(frappe.db.count("Agent"), before)

	def test_dry_run_gives_agents_with_the_same_name_distinct_names(self):
		text = BUILDER.replace('"Orders"', '"Sort"')
		first, second = (each["name"] for each in import_agents(text, is_dry_run=True)["agents"])
		self.assertNotEqual(first, second)

	def test_agent_builder_code_is_parsed_without_execution(self):
		(sort, orders), unmapped = parse_export(BUILDER)
		self.assertEqual(
			(sort.name, sort.instructions, sort.model),
			("Sort", "Sort the question by topic.", "gpt-4.1-mini"),
		)
		self.assertEqual(sort.settings, {"temperature": 0.5, "top_p": 1, "max_tokens": 2048})
		self.assertEqual(sort.unmapped, ["model_settings: store=True", "output_type: SortSchema"])
		self.assertEqual((orders.name, orders.instructions), ("Orders", ""))
		self.assertIn("order_instructions", orders.unmapped[0])
		self.assertEqual(orders.unmapped[1], "tools: [web_search]")
		self.assertIn("run_workflow", unmapped[0])

	def test_instructions_from_an_f_string_keep_their_expressions_as_placeholders(self):
		export = """
def instructions(run_context: RunContextWrapper[Context], _agent: Agent[Context]):
  city = run_context.context.state_city
  return f\"\"\"Answer about {city}, {city.upper()!r}.
Return {{"ok": true}}.\"\"\"
guide = Agent(name="Guide", instructions=instructions, model="gpt-4.1")
"""
		((guide,), _) = parse_export(export)
		text = 'Answer about {{ city }}, {{ city.upper() }}.\nReturn {"ok": true}.'
		self.assertEqual(guide.instructions, text)
		self.assertIn("kept as text and not evaluated", guide.unmapped[0])

	def test_invalid_exports_are_refused_with_a_reason(self):
		for text, reason in (
			("{", "not valid JSON"),
			('{"nodes": []}', "not a workflow of n8n"),
			('{"nodes": [], "connections": {}}', "has 0 agents"),
			('{"nodes": [{"name": 1}], "connections": {}}', "structure of such an export"),
			('{"nodes": [7], "connections": {}}', "structure of such an export"),
			('import { Agent } from "@openai/agents";', "neither JSON nor Python"),
			("print('hello')", "has 0 agents"),
			("(" * 100_000, "neither JSON nor Python|structure of such an export"),
			("x" * 2_000_001, "more than 2,000,000"),
		):
			with self.subTest(text[:40]), self.assertRaisesRegex(UsageError, reason):
				parse_export(text)

	def test_a_workflow_with_thousands_of_agents_is_refused_at_once(self):
		nodes = [{"name": f"a{number}", "type": N8N_AGENT} for number in range(3_000)]
		connections = {f"b{number}": {"ai_tool": [[{"node": "x"}]]} for number in range(3_000)}
		began = time.process_time()
		with self.assertRaisesRegex(UsageError, "has 3000 agents"):
			parse_export(json.dumps({"nodes": nodes, "connections": connections}))
		self.assertLess(time.process_time() - began, 1)

	def test_names_that_are_numbers_and_characters_that_no_database_stores_are_imported(self):
		node = {"type": N8N_AGENT, "parameters": {"options": {"systemMessage": "Be kind\x00 \ud800"}}}
		(first, second) = import_agents(
			json.dumps({"nodes": [{**node, "name": 4711}, {**node, "name": "a\ud800"}], "connections": {}}),
			True,
		)["agents"]
		self.assertEqual((first["name"], first["instructions"]), ("4711", "Be kind ?"))
		self.assertEqual(second["name"], "a?")

	def test_signs_that_no_name_may_have_are_left_out(self):
		code = 'x = Agent(name="Mail <Support>", instructions="Answer.")'
		self.assertEqual(import_agents(code, True)["agents"][0]["name"], "Mail Support")

	def test_names_that_frappe_keeps_for_forms_lose_their_new(self):
		report = import_agents('x = Agent(name="New Agent of Anna", instructions="Answer.")', True)
		self.assertEqual(report["agents"][0]["name"], "Agent of Anna")

	def test_import_requires_permission_to_create_agents(self):
		frappe.set_user(make_user("Huf User"))
		self.assertRaises(frappe.PermissionError, import_agents, BUILDER)
