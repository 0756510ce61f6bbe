"""Personal data is masked for the model and restored in its tool calls and answers."""

import json
import unittest

import frappe

from huf.ai.core.event_loops import run_coroutine
from huf.ai.core.events import EventKind
from huf.ai.core.types import AgentRequest, CallRequest, ModelReply
from huf.ai.loop.model import FreeModel
from huf.ai.providers.masking import MaskedModel, Masker, UnmaskedStream
from huf.ai.providers.personal_patterns import read_patterns
from huf.ai.providers.record_values import RecordValues
from huf.ai.runs.entry import run_agent_sync, stream_agent
from huf.tests.base import SiteTestCase, enter
from huf.tests.factories import make, make_agent, make_model, make_tool, unique
from huf.tests.measuring import assert_bounded
from huf.tests.model_server import ModelServer, text, tool_call

MASKED = {
	"EMAIL": ("anna.b+x@example.co.uk", "petr@příklad.cz"),
	"IBAN": ("DE89 3704 0044 0532 0130 00", "ES9121000418450200051332", "CZ65 0800 0000 1920 0014 5399"),
	"CARD": ("4111 1111 1111 1111", "5500-0000-0000-0004", "340000000000009"),
	"PHONE": (
		*("+49 30 1234567", "0049 (0)170 1234567", "030 1234567", "(030) 123-456", "0170/1234567"),
		*("+420 602 123 456", "602 123 456", "612 345 678", "(415) 555-0132", "415-555-0132"),
	),
}
NOT_MASKED = (
	*("2026-02-27", "27.02.2026", "01-02-2026 14:30", "01/02/2026", "2026-02-27 09:15:00.123456", "09:15"),
	*("SAL-ORD-2026-00012", "INV-0123456789", "1234567", "12,345.67", "0.1234567", "4111 1111 1111 1112"),
	*("DE00 ABCD 1234 EFGH 5678 IJ", "v15.55.1", "192.168.0.1", "3f9a2b7c1d", "@anna", "[EMAIL-9]"),
)


class TestMasker(unittest.TestCase):
	def test_personal_data_becomes_placeholders(self):
		for kind, values in MASKED.items():
			for value in values:
				with self.subTest(value):
					self.assertEqual(Masker().mask(f"It is {value}, she said"), f"It is [{kind}-1], she said")

	def test_values_that_resemble_personal_data_are_not_masked(self):
		for value in NOT_MASKED:
			with self.subTest(value):
				self.assertEqual(Masker().mask(f"It is {value}."), f"It is {value}.")

	def test_equal_values_share_a_placeholder_and_are_unmasked(self):
		masker, original = Masker(), "a@b.de and c@d.de and a@b.de"
		self.assertEqual(masker.mask(original), "[EMAIL-1] and [EMAIL-2] and [EMAIL-1]")
		self.assertEqual(masker.unmask("[EMAIL-2], not [EMAIL-7]"), "c@d.de, not [EMAIL-7]")

	def test_thousands_of_different_values_are_masked_in_linear_time(self):
		assert_bounded(
			self,
			lambda addresses: Masker().mask(addresses),
			lambda chars: " ".join(f"a{number:05}@b.de" for number in range(chars // 12)),
			60_000,
		)

	def test_masked_json_stays_valid_and_is_restored(self):
		masker, value = Masker(), {"text": 'Write to:\nanna@b.de\n030 1234567 "x@y.de"', "n": 5}
		masked = masker.mask(json.dumps(value))
		self.assertEqual(json.loads(masked)["text"], 'Write to:\n[EMAIL-1]\n[PHONE-1] "[EMAIL-2]"')
		self.assertEqual(json.loads(masker.unmask(masked)), value)

	def test_json_stays_valid_where_a_pattern_of_the_site_matches_several_strings(self):
		masker, value = Masker(read_patterns("ORDER: Order .*")), {"a": "Order 5", "b": ["x"]}
		masked = masker.mask(json.dumps(value))
		self.assertEqual(json.loads(masked), {"a": "[ORDER-1]", "[ORDER-1.2]": ["[ORDER-1.3]"]})
		self.assertEqual(json.loads(masker.unmask(masked)), value)

	def test_patterns_of_the_site_do_not_match_inside_placeholders(self):
		masker = Masker(read_patterns("CUSTOMER: \\b[A-Z]+-\\d+\\b\n\nCASE: CUSTOMER"))
		self.assertEqual(masker.mask("C-12 of a@b.de, C-13"), "[CUSTOMER-1] of [EMAIL-1], [CUSTOMER-2]")

	def test_invalid_patterns_are_refused_with_the_reason(self):
		for line, reason in (
			("customer: x", "'customer: x' is not NAME"),
			("CUSTOMER", "'CUSTOMER' is not NAME"),
			("CUSTOMER: [", "not a regular expression"),
			("CUSTOMER: x*", "empty text"),
			("EMAIL: x", "is taken"),
			("CUSTOMER: x\nCUSTOMER: y", "is taken"),
		):
			with self.subTest(line), self.assertRaisesRegex(ValueError, reason):
				read_patterns(line)

	def test_a_stream_is_unmasked_for_any_chunk_size(self):
		masker = Masker()
		masked = masker.mask("Ask a@b.de [now] or c@d.de")
		for size in range(1, len(masked)):
			parts = []
			stream = UnmaskedStream(masker, lambda text, is_reasoning: parts.append((is_reasoning, text)))  # noqa: B023
			for is_reasoning in (True, False):
				for start in range(0, len(masked), size):
					stream.add(masked[start : start + size], is_reasoning)
			stream.end()
			for kind in (True, False):
				text = "".join(text for is_reasoning, text in parts if is_reasoning is kind)
				self.assertEqual(text, "Ask a@b.de [now] or c@d.de")


class TestMaskedModel(unittest.TestCase):
	def test_a_masked_model_passes_on_max_tokens_worst_case_and_retries(self):
		class Limited(FreeModel):
			retries = 2

			async def complete(self, messages, tools, on_text, max_tokens=None):
				return ModelReply(f"{messages[0]['content']} {max_tokens}")

			def worst_case(self, messages, tools, counted=(0, 0)):
				return messages[0]["content"]

		model = MaskedModel(Limited(), Masker())
		messages = [{"role": "user", "content": "a@b.de"}]
		reply = run_coroutine(model.complete(messages, [], print, max_tokens=7))
		self.assertEqual(
			(reply.text, model.worst_case(messages, []), model.retries), ("a@b.de 7", "[EMAIL-1]", 2)
		)

	def test_a_call_gets_the_name_of_a_record_that_has_quotes(self):
		class Caller(FreeModel):
			async def complete(self, messages, tools, on_text, max_tokens=None):
				return ModelReply("", (CallRequest("1", "mail", '{"to": "[NAME-1]"}'),))

		values, name = RecordValues(), 'Karla "Kája" Nováková'
		values.add_person(name)
		model = MaskedModel(Caller(), Masker((), values))
		(call,) = run_coroutine(model.complete([{"role": "user", "content": name}], [], print)).calls
		self.assertEqual(json.loads(call.arguments), {"to": name})


class TestMaskedRun(SiteTestCase):
	def setUp(self):
		super().setUp()
		self.note = make("Note", title=unique("Anna"), content="Anna: anna@example.com, +49 30 1234567").name
		self.read = make_tool("Get Document", reference_doctype="Note")
		self.create = make_tool("Create Document", reference_doctype="ToDo")
		self.server = enter(self, ModelServer())
		tools = (self.read, self.create)
		self.agent = make_agent(make_model(self.server), tools, mask_personal_data=1)

	def script(self):
		self.server.script(
			tool_call(self.read, {"name": self.note}),
			tool_call(self.create, {"description": "Write to [EMAIL-2]"}),
			text("I will write to [EMAIL-2]."),
		)

	def test_the_model_gets_placeholders_and_tools_records_and_users_real_values(self):
		self.script()
		result = run_agent_sync(self.agent, "I am bob@example.com. Remind me to write to Anna.")
		sent = json.dumps(self.server.requests)
		self.assertFalse([word for word in ("anna@", "bob@", "1234567") if word in sent])
		self.assertEqual(result["response"], "I will write to anna@example.com.")
		self.assertTrue(frappe.db.exists("ToDo", {"description": ["like", "%Write to anna@example.com%"]}))
		results = frappe.get_all(
			"Agent Tool Call", {"run": result["run"]}, pluck="result", order_by="step asc, creation asc"
		)
		self.assertIn("anna@example.com, +49 30 1234567", results[0])

	def test_the_stream_of_a_masked_run_contains_real_values(self):
		self.script()
		events = stream_agent(AgentRequest(self.agent, "I am bob@example.com.", "Administrator"))
		deltas = [event.data["text"] for event in events if event and event.kind is EventKind.TEXT_DELTA]
		self.assertEqual("".join(deltas), "I will write to anna@example.com.")

	def test_the_history_of_earlier_runs_is_masked(self):
		self.script()
		first = run_agent_sync(self.agent, "I am bob@example.com.")
		self.server.script(text("Yes."))
		run_agent_sync(self.agent, "Really?", conversation_id=first["conversation"])
		self.assertNotIn("@example.com", json.dumps(self.server.requests[-1]))

	def test_facts_from_memory_are_masked_in_the_instructions(self):
		agent = frappe.get_doc("Agent", self.agent)
		agent.append("agent_tool", {"tool": make_tool("Recall")})
		agent.save()
		make("Agent Memory", agent=self.agent, scope="User", fact="Anna reads mail at anna@example.org")
		frappe.db.commit()
		self.server.script(text("Fine."))
		run_agent_sync(self.agent, "Hello", channel_id=unique("c"))
		instructions = self.server.requests[0]["messages"][0]["content"]
		# The name before it is masked too if the site has a user of that name.
		self.assertIn(" reads mail at [EMAIL-1]", instructions)
		self.assertNotIn("anna@", instructions)

	def test_an_agent_without_mask_personal_data_masks_nothing(self):
		frappe.db.set_value("Agent", self.agent, "mask_personal_data", 0)
		frappe.db.commit()
		self.script()
		run_agent_sync(self.agent, "Remind me to write to Anna.")
		self.assertIn("anna@example.com", json.dumps(self.server.requests[-1]))

	def test_settings_refuse_a_pattern_that_cannot_be_read(self):
		settings = frappe.get_doc("Huf Settings")
		settings.mask_patterns = "CUSTOMER: ["
		with self.assertRaisesRegex(frappe.ValidationError, "not a regular expression"):
			settings.save()

	def test_a_pattern_that_takes_too_long_ends_the_run_and_nothing_is_sent(self):
		settings = frappe.get_doc("Huf Settings")
		self.addCleanup(frappe.db.set_single_value, "Huf Settings", "mask_patterns", settings.mask_patterns)
		settings.mask_patterns = "CUSTOMER: (?:a|aa)+$"
		settings.save()
		frappe.db.commit()
		result = run_agent_sync(self.agent, "a" * 60 + "!")
		self.assertIn("CUSTOMER takes too long", result["error"])
		self.assertEqual(self.server.requests, [])
