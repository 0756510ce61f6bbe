"""Conditions and order of mail rules, and the configuration file that holds them."""

import time
import unittest

import frappe

from huf.ai.core.errors import UsageError
from huf.ai.mail.config import read_config, write_config
from huf.ai.mail.import_export import export_config, guess_provider, import_config
from huf.ai.mail.message import parse_message
from huf.ai.mail.rules import (
	MailRoute,
	Rule,
	RulePosition,
	check_rule,
	find_route,
	find_unreachable,
	plan_positions,
	try_rule,
)
from huf.api.mail import get_rules
from huf.tests.base import SiteTestCase
from huf.tests.factories import make, make_tool, unique

EXAMPLE = """
routing:
  rules:
    - name: pharmacy_support
      match:
        forwarded_from: "info@dostupnost-leku.cz"
      route: agent
      profile: pharmacy
    - name: default
      match:
        all: true
      route: pipeline
"""
PROFILES = """
agent:
  profiles:
    pharmacy:
      model: gemini/gemini-2.5-pro
      max_tokens: 4096
      temperature: 0.3
      max_iterations: 10
      system_prompt_file: config/prompts/pharmacy.txt
      tools:
        - search_drugs
        - manage_reservation
        - web_search
        - send_reply
        - create_draft
        - escalate
"""


def mail(body: str = "Hello", **headers: str):
	fields = {"From": "Anna <Anna@Customer.example>", "Subject": "Order NUMBER 7", **headers}
	lines = [f"{name.replace('_', '-')}: {value}" for name, value in fields.items()]
	return parse_message("\r\n".join([*lines, "", body]).encode())


def fits(match: dict, message=None) -> bool:
	return try_rule(Rule("r", match), message or mail()).fits


class TestConditions(unittest.TestCase):
	def test_all_matches_every_mail(self):
		self.assertTrue(fits({"all": True}))

	def test_sender_email_matches_the_whole_address(self):
		self.assertTrue(fits({"sender_email": "anna@customer.example"}))
		for other in ("nna@customer.example", "anna@customer.example.org", "anna"):
			self.assertFalse(fits({"sender_email": other}))

	def test_sender_domain_may_have_any_letters(self):
		headers = {"From": "Jan <jan@müller.example>"}
		self.assertTrue(try_rule(Rule("r", {"sender_domain": "Müller.example"}), mail(**headers)).fits)
		self.assertFalse(try_rule(Rule("r", {"sender_domain": "muller.example"}), mail(**headers)).fits)

	def test_sender_domain_matches_the_whole_domain(self):
		self.assertTrue(fits({"sender_domain": "customer.example"}))
		for other in ("example", "sub.customer.example", "ustomer.example"):
			self.assertFalse(fits({"sender_domain": other}))

	def test_subject_contains_words_in_any_case(self):
		self.assertTrue(fits({"subject_contains": "number"}))
		self.assertTrue(fits({"subject_contains": "příliš"}, mail(Subject="PŘÍLIŠ moc")))
		self.assertFalse(fits({"subject_contains": "invoice"}))

	def test_header_match_requires_every_header_to_match(self):
		message = mail(X_Shop="crisp-7", X_Kind="support")
		self.assertTrue(fits({"header_match": {"X-Shop": r"^crisp-\d+$", "x-kind": "support"}}, message))
		self.assertFalse(fits({"header_match": {"X-Shop": "crisp", "X-Kind": "sales"}}, message))
		self.assertFalse(fits({"header_match": {"X-Gone": ".*"}}, message))

	def test_forwarded_from_looks_at_four_signals(self):
		match = {"forwarded_from": "info@shop.example"}
		self.assertTrue(fits(match, mail(X_Forwarded_From="Shop <info@shop.example>")))
		self.assertTrue(fits(match, mail(Reply_To="INFO@shop.example")))
		self.assertTrue(fits(match, mail("---------- Forwarded message\nFrom: Shop <info@shop.example>\n")))
		self.assertTrue(fits(match, mail(From="info@shop.example")))
		for body in ("my-info@shop.example", "info@shop.example.evil.example", "info at shop.example"):
			self.assertFalse(fits(match, mail(body)), body)

	def test_all_conditions_of_a_rule_must_hold_and_each_is_explained(self):
		result = try_rule(
			Rule("r", {"sender_domain": "customer.example", "subject_contains": "invoice"}), mail()
		)
		self.assertFalse(result.fits)
		self.assertEqual([check.ok for check in result.checks], [True, False])
		self.assertEqual(result.checks[1].saw, "Order NUMBER 7")

	def test_a_catastrophic_regular_expression_in_a_rule_is_stopped(self):
		started = time.monotonic()
		message = mail(X_Long="a" * 4000 + "!")
		result = try_rule(Rule("r", {"header_match": {"X-Long": r"^(a+)+$"}}), message)
		self.assertLess(time.monotonic() - started, 10)
		self.assertFalse(result.fits)


class TestOrder(unittest.TestCase):
	def test_the_first_matching_rule_routes_the_mail(self):
		rules = [
			Rule("no", {"sender_domain": "else.example"}, MailRoute.AGENT, "other"),
			Rule("yes", {"sender_domain": "customer.example"}, MailRoute.AGENT, "pharmacy"),
			Rule("default", {"all": True}),
		]
		decision = find_route(rules, mail())
		self.assertEqual(
			(decision.rule, decision.route, decision.profile), ("yes", MailRoute.AGENT, "pharmacy")
		)
		self.assertEqual([tried.rule for tried in decision.tried], ["no", "yes"])

	def test_mail_without_a_matching_rule_uses_the_pipeline(self):
		for rules in ([], [Rule("no", {"sender_email": "b@else.example"})]):
			decision = find_route(rules, mail())
			self.assertEqual((decision.rule, decision.route), (None, MailRoute.PIPELINE))

	def test_rules_that_could_never_work_are_refused(self):
		for match in (
			{},
			{"all": False},
			{"sender_email": "anna"},
			{"header_match": {"X": "("}},
			{"sender": "x"},
		):
			with self.assertRaises(UsageError):
				check_rule(Rule("r", match))
		with self.assertRaises(UsageError):
			check_rule(Rule("r", {"all": True}, MailRoute.AGENT))
		with self.assertRaises(UsageError):
			check_rule(Rule("r", {"header_match": {"X": "a" * 501}}))


class TestPositions(unittest.TestCase):
	def plan(self, names: str, *rows: tuple) -> list[int]:
		positions = plan_positions(list(names), [RulePosition(*row) for row in rows])
		return [positions[name] for name in names]

	def test_imported_rules_are_placed_last_but_before_a_catch_all_rule(self):
		self.assertEqual(self.plan("abc"), [10, 20, 30])
		self.assertEqual(self.plan("ab", ("x", 40, False)), [50, 60])
		rows = ("x", 10, False), ("all", 20, True)
		self.assertEqual(self.plan("abcd", *rows), [12, 14, 16, 18])
		self.assertEqual(self.plan("a", ("all", 1, True)), [0])
		self.assertEqual(self.plan("ab", ("x", 10, False), ("all", 11, True)), [9, 10])

	def test_new_rules_of_a_known_file_continue_its_positions(self):
		rows = ("x", 10, False), ("a", 20, False), ("b", 30, True), ("y", 90, False)
		self.assertEqual(self.plan("abc", *rows), [20, 30, 40])

	def test_rules_shadowed_by_an_earlier_rule_are_found(self):
		rules = [
			Rule("shop", {"sender_domain": "shop.example"}),
			Rule("invoice", {"sender_domain": "shop.example", "subject_contains": "invoice"}),
			Rule("other", {"sender_domain": "other.example"}),
			Rule("all", {"all": True}),
			Rule("late", {"sender_email": "a@late.example"}),
		]
		self.assertEqual(find_unreachable(rules), {"invoice": "shop", "late": "all"})


class TestImport(SiteTestCase):
	def test_imported_rules_fire_on_a_site_that_has_a_rule_for_every_mail(self):
		default = make(
			"Agent Route Rule", rule_name=unique("Rest"), position=20, match_all=1, route="pipeline"
		)
		names = [unique("Rule") for _ in range(5)]
		rules = [f"{{name: {name}, match: {{subject_contains: {name}}}}}" for name in names]
		first = import_config(f"routing: {{rules: [{', '.join(rules)}]}}", lambda path: "")
		listed = [(each["name"], each["blocked_by"]) for each in get_rules()]
		self.assertEqual([each for each in listed if each[0] in names], [(name, None) for name in names])
		self.assertEqual((first.unreachable, listed[-1]), ({}, (default.name, None)))
		make("Agent Route Rule", rule_name="Late", position=30, subject_contains="x", route="pipeline")
		self.assertEqual(get_rules()[-1]["blocked_by"], default.name)
		second = import_config(f"routing: {{rules: [{', '.join(rules)}]}}", lambda path: "")
		self.assertEqual(second.unreachable, {"Late": default.name})

	def test_a_new_agent_gets_defaults_for_missing_profile_fields(self):
		name = unique("Agent")
		import_config(
			f"agent: {{profiles: {{{name}: {{system_prompt_file: p.txt, tools: []}}}}}}", lambda path: "Hi"
		)
		agent = frappe.get_doc("Agent", name)
		self.assertEqual((agent.model, agent.max_tokens), ("gemini/gemini-2.5-pro", 4096))
		self.assertEqual((agent.temperature, agent.max_iterations), (0.3, 10))

	def test_an_exported_agent_is_unchanged_when_it_is_imported_again(self):
		tool = make_tool("Get List", reference_doctype="ToDo")
		rows = [{"tool": tool, "requires_approval": 1, "max_calls": 2}]
		agent = make("Agent", agent_name=unique("Agent"), instructions="Hi", agent_tool=rows)
		make(
			"Agent Route Rule",
			rule_name=unique("Rule"),
			subject_contains="x",
			route="agent",
			profile=agent.name,
		)
		kept = ("model", "max_tokens", "temperature", "max_iterations", "instructions")
		before = [frappe.get_doc("Agent", agent.name).get(field) for field in kept]
		text, prompts = export_config()
		import_config(text, lambda path: prompts[path])
		after = frappe.get_doc("Agent", agent.name)
		self.assertEqual([after.get(field) for field in kept], before)
		self.assertEqual([(row.requires_approval, row.max_calls) for row in after.agent_tool], [(1, 2)])

	def test_imported_tools_have_the_order_of_the_file(self):
		tools = [make_tool("Get List", reference_doctype="ToDo") for _ in range(3)]
		rows = [{"tool": tools[0], "requires_approval": 1}, {"tool": tools[1]}]
		agent = make("Agent", agent_name=unique("Agent"), instructions="Hi", agent_tool=rows)
		wanted = [tools[2], tools[1], tools[0]]
		profile = f"{{system_prompt_file: p.txt, tools: [{', '.join(wanted)}]}}"
		import_config(f"agent: {{profiles: {{{agent.name}: {profile}}}}}", lambda path: "Hi")
		after = frappe.get_doc("Agent", agent.name).agent_tool
		self.assertEqual([row.tool for row in after], wanted)
		self.assertEqual([row.requires_approval for row in after], [0, 0, 1])


class TestFile(unittest.TestCase):
	def test_the_example_config_survives_a_round_trip(self):
		config = read_config(EXAMPLE + PROFILES)
		self.assertEqual(
			config.rules[0],
			Rule(
				"pharmacy_support", {"forwarded_from": "info@dostupnost-leku.cz"}, MailRoute.AGENT, "pharmacy"
			),
		)
		self.assertEqual(config.rules[1], Rule("default", {"all": True}))
		(pharmacy,) = config.profiles
		settings = {"model": "gemini/gemini-2.5-pro", "max_tokens": 4096, "temperature": 0.3}
		self.assertEqual(pharmacy.settings, {**settings, "max_iterations": 10})
		self.assertEqual(pharmacy.tools[-1], "escalate")
		self.assertEqual(read_config(write_config(config.rules, config.profiles)), config)

	def test_provider_of_a_model_is_taken_from_its_prefix_or_the_price_table(self):
		for model, provider in (
			("gemini/gemini-2.5-pro", "Google"),
			("gemini-2.5-pro", "Google"),
			("gpt-4.1-mini", "OpenAI"),
			("claude-sonnet-4-5", "Anthropic"),
			("house/large", "House"),
		):
			self.assertEqual(guess_provider(model), provider, model)

	def test_config_errors_are_reported_with_their_line(self):
		for text, line in (
			(EXAMPLE.replace("all: true", "every: true"), 11),
			(EXAMPLE.replace("route: pipeline", "route: bin"), 12),
			(EXAMPLE.replace("      profile: pharmacy\n", ""), 4),
			(EXAMPLE.replace("name: default", "name: pharmacy_support"), 9),
			(EXAMPLE.replace("match:\n        all: true", "match: all"), 10),
			(PROFILES.replace("max_tokens: 4096", "max_tokens: many"), 6),
			(PROFILES.replace("      system_prompt_file: config/prompts/pharmacy.txt\n", ""), 4),
			(PROFILES + "      colour: red\n", 17),
			("routing:\n  rules: [", 2),
			("routing: {}\nrouting: {}", 2),
			("- a list", 1),
			("a: !!python/object/apply:os.system [ls]", 1),
		):
			with self.subTest(text[-60:]), self.assertRaises(UsageError) as caught:
				read_config(text)
			self.assertRegex(str(caught.exception), rf"^Line {line}: ")
