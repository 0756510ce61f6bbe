"""Agents from one sentence: proposed by a model or from keywords, limited, reviewed, created."""

import json
from unittest.mock import ANY

import frappe

from huf.ai.core.errors import UsageError
from huf.ai.setup.agents import create_proposed
from huf.ai.setup.proposals import MAX_TOOL_DOCTYPES, propose_agent, read_proposal
from huf.tests.base import SiteTestCase, enter, keep_default_model
from huf.tests.factories import make_model, make_user, unique
from huf.tests.model_server import ModelServer, error, text

SENTENCE = "Watch overdue to-dos every weekday at 9 and write me a summary"


def make_raw_proposal(name: str = "Overdue To-dos", **values) -> dict:
	"""A proposal as a model returns it."""
	return {
		"name": name,
		"description": "Watches what is overdue.",
		"instructions": "List the open to-dos. Sum up what is overdue.",
		"tools": [{"doctype": "ToDo", "kinds": ["list", "read", "update"]}],
		"trigger": {"trigger_type": "Schedule", "cron": "0 9 * * 1-5", "prompt": "Sum up what is overdue."},
		"max_iterations": 12,
		"daily_cost_limit": 2.5,
		"cases": [
			{"prompt": "What is overdue?", "doctype": "ToDo", "kind": "list", "question": ""},
			{"prompt": "Who are you?", "doctype": "", "kind": "", "question": "Does it say its purpose?"},
			{"prompt": "Is anything late?", "doctype": "ToDo", "kind": "list", "question": "Is it brief?"},
		],
		**values,
	}


class TestProposalsOfAModel(SiteTestCase):
	def setUp(self):
		super().setUp()
		keep_default_model(self)
		self.server = enter(self, ModelServer())
		self.model = make_model(self.server)
		frappe.db.set_single_value("Huf Settings", "default_model", self.model)
		frappe.db.commit()

	def test_model_receives_a_json_schema_with_doctypes_of_the_site(self):
		self.server.script(text(json.dumps(make_raw_proposal())))
		proposal = propose_agent(SENTENCE)
		self.assertEqual((proposal["source"], proposal["problem"]), ("model", None))
		self.assertEqual(proposal["name"], "Overdue To-dos")
		request = self.server.requests[0]
		schema = request["response_format"]["json_schema"]["schema"]
		offered = schema["properties"]["tools"]["items"]["properties"]["doctype"]["enum"]
		self.assertIn("ToDo", offered)
		self.assertNotIn("delete", json.dumps(schema))
		self.assertIn(SENTENCE, request["messages"][1]["content"])

	def test_failed_model_call_falls_back_to_a_proposal_from_keywords(self):
		for answer, problem in (
			(error(401, "wrong key"), "API key"),
			(text("I would rather not."), "did not answer with JSON"),
		):
			self.server.script(answer)
			proposal = propose_agent(SENTENCE)
			self.assertEqual(proposal["source"], "words")
			self.assertIn(problem, proposal["problem"])
			self.assertEqual([tool["doctype"] for tool in proposal["tools"]], ["ToDo"])

	def test_proposals_contain_only_doctypes_the_user_may_use(self):
		user = make_user("Huf Manager")
		self.server.script(
			text(json.dumps(make_raw_proposal(tools=[{"doctype": "Server Script", "kinds": ["list"]}])))
		)
		frappe.set_user(user)
		frappe.has_permission("ToDo", "read", throw=True)
		proposal = propose_agent("List my server scripts")
		self.assertEqual(proposal["tools"], [])
		self.assertNotIn("Server Script", self.server.bodies[0].decode())


class TestProposals(SiteTestCase):
	def setUp(self):
		super().setUp()
		keep_default_model(self)
		frappe.db.set_single_value("Huf Settings", "default_model", None)
		frappe.db.commit()

	def test_proposal_without_a_model_is_derived_from_keywords(self):
		proposal = propose_agent(SENTENCE)
		self.assertEqual((proposal["source"], proposal["model"]), ("words", None))
		self.assertEqual(proposal["name"], "Watch overdue to-dos every weekday at 9")
		self.assertEqual(
			[(each["doctype"], each["kinds"]) for each in proposal["tools"]], [("ToDo", ["list", "read"])]
		)
		self.assertEqual(proposal["trigger"]["cron"], "0 9 * * 1-5")
		self.assertEqual(len(proposal["cases"]), 3)
		self.assertIn(SENTENCE, proposal["instructions"])

	def test_times_and_verbs_are_read_in_four_languages(self):
		for sentence, cron, kinds in (
			("Erstelle jeden Morgen um 7:30 ein ToDo", "30 7 * * *", ["list", "read", "create"]),
			("Cada semana a las 10 marca los ToDo viejos", "0 10 * * 1", ["list", "read", "update"]),
			("Každý den v 6 uprav ToDo", "0 6 * * *", ["list", "read", "update"]),
			("Close done to-dos monthly at 5 pm", "0 17 1 * *", ["list", "read", "update"]),
			("Every day at 12 am list the to-dos", "0 0 * * *", ["list", "read"]),
			("Every day at 12:30 pm list the to-dos", "30 12 * * *", ["list", "read"]),
			("Watch the to-dos every Tuesday and Friday at 4 pm", "0 16 * * 2,5", ["list", "read"]),
			("Lies freitags um 8 die ToDo vor", "0 8 * * 5", ["list", "read"]),
			("Lista los ToDo cada miércoles", "0 8 * * 3", ["list", "read"]),
			("Ukaž ToDo každou sobotu v 10", "0 10 * * 6", ["list", "read"]),
			("Every day at 9 list the to-dos due on Friday", "0 9 * * *", ["list", "read"]),
			("Montags bis freitags um 7 die ToDo lesen", "0 7 * * 1-5", ["list", "read"]),
			("Every Sunday list the to-dos due on Monday", "0 8 * * 0", ["list", "read"]),
			("List every ToDo due on Friday", None, ["list", "read"]),
			("Lista los ToDo del viernes", None, ["list", "read"]),
			("Read the tags of the to-dos due on Friday", None, ["list", "read"]),
			("List the to-dos every second Friday", None, ["list", "read"]),
			("Tell me which to-dos are open", None, ["list", "read"]),
		):
			with self.subTest(sentence):
				proposal = propose_agent(sentence)
				trigger = proposal["trigger"]
				self.assertEqual(trigger and trigger["cron"], cron)
				# Words such as "tags" name DocTypes of other apps as well.
				self.assertEqual(
					{each["doctype"]: each["kinds"] for each in proposal["tools"]}["ToDo"], kinds
				)

	def test_a_name_is_not_cut_inside_a_time_or_a_number(self):
		for sentence, name in (
			("Each morning at 7:30 list to-dos: the open ones", "Each morning at 7:30 list to-dos"),
			("Find to-dos above 1.5 hours. Then tell me", "Find to-dos above 1.5 hours"),
		):
			self.assertEqual(propose_agent(sentence)["name"], name)

	def test_sentence_about_a_new_record_proposes_an_after_insert_trigger(self):
		trigger = propose_agent("When a new ToDo comes in, check its date")["trigger"]
		self.assertEqual((trigger["reference_doctype"], trigger["doc_event"]), ("ToDo", "after_insert"))

	def test_accepted_proposal_creates_agent_trigger_cases_and_write_approvals(self):
		made = create_proposed(make_raw_proposal(unique("Overdue")))
		agent = frappe.get_doc("Agent", made["name"])
		approvals = {row.tool: row.requires_approval for row in agent.agent_tool}
		effects = {tool: frappe.db.get_value("Agent Tool Function", tool, "effect") for tool in approvals}
		self.assertEqual(sorted(effects.values()), ["read", "read", "write"])
		self.assertEqual(approvals, {tool: int(effect == "write") for tool, effect in effects.items()})
		self.assertEqual((agent.max_iterations, agent.daily_cost_limit), (12, 2.5))
		trigger = frappe.get_doc("Agent Trigger", made["trigger"])
		self.assertEqual((trigger.cron, trigger.notify_user), ("0 9 * * 1-5", "Administrator"))
		cases = [frappe.get_doc("Agent Eval Case", name) for name in made["cases"]]
		self.assertEqual(len(cases), 3)
		self.assertIn("calls: ", cases[0].definition)
		self.assertIn("judge: Does it say its purpose?", cases[1].definition)
		self.assertEqual(agent.starters.split("\n")[0], "What is overdue?")

	def test_unknown_and_excessive_values_of_a_proposal_are_dropped(self):
		too_many = [
			{"doctype": name, "kinds": ["list"]}
			for name in ("ToDo", "User", "Role", "Note", "Agent", "Nothing", 7)
		]
		raw = make_raw_proposal(
			tools=[*too_many, {"doctype": "ToDo", "kinds": ["delete", "list"]}],
			trigger={"trigger_type": "Schedule", "cron": "every day"},
			max_iterations=10**9,
			daily_cost_limit=float("nan"),
			owner="Guest",
			cases=[{"prompt": "No check"}, "text", *make_raw_proposal()["cases"] * 2],
		)
		proposal = read_proposal({**raw, "instructions": "x" * 100_000})
		self.assertNotIn("owner", proposal)
		self.assertLessEqual(len(proposal["tools"]), MAX_TOOL_DOCTYPES)
		self.assertNotIn("Nothing", [tool["doctype"] for tool in proposal["tools"]])
		self.assertEqual(
			proposal["tools"][0], {"doctype": "ToDo", "label": "ToDo", "kinds": ["list"], "allowed": ANY}
		)
		self.assertEqual(
			(proposal["trigger"], proposal["max_iterations"], proposal["daily_cost_limit"]), (None, 50, 0)
		)
		self.assertEqual((len(proposal["cases"]), len(proposal["instructions"])), (3, 6_000))

	def test_proposing_and_creating_agents_requires_permission(self):
		frappe.set_user(make_user("Huf User"))
		self.assertRaises(frappe.PermissionError, propose_agent, SENTENCE)
		frappe.local.message_log = []
		self.assertRaises(frappe.PermissionError, create_proposed, make_raw_proposal(unique("Mine")))

	def test_empty_or_overlong_sentence_is_refused(self):
		for sentence in (" ", "x" * 1_001):
			self.assertRaises(UsageError, propose_agent, sentence)
