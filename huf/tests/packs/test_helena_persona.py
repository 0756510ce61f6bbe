"""Helena in a run: her German texts, the step limits of her two modes, and what the model is sent."""

import json

import frappe

from huf.ai.core.events import EventKind
from huf.ai.core.types import AgentRequest, Mode
from huf.ai.runs.entry import run_agent, stream_agent
from huf.ai.tools.sources import read_sources
from huf.api.agent import get_agents
from huf.tests.base import enter
from huf.tests.factories import make_model
from huf.tests.model_server import ModelServer, call, text, tool_call, tool_calls
from huf.tests.packs.helena import HelenaTestCase

GREETING = "Hi, ich bin Helena! Ich kann Akten durchsuchen, Gesetze nachschlagen und Entwürfe erstellen. Was kann ich für Sie tun?"
STALL = "Gib jetzt deine beste Antwort mit dem, was du bisher hast."
OFFER = "Möchten Sie, dass ich im Hintergrund weitermache?"


class TestPersona(HelenaTestCase):
	def setUp(self):
		super().setUp()
		self.server = enter(self, ModelServer())
		self.model = make_model(self.server)
		frappe.db.commit()

	def ask(self, prompt: str, *turns, **how):
		self.server.script(*turns)
		return run_agent(AgentRequest("Helena", prompt, self.user, model=self.model, **how))

	def set_default_model(self, model: str | None):
		frappe.db.rollback()
		frappe.get_doc("Huf Settings").update({"default_model": model}).save()
		frappe.db.commit()

	def read(self, number: int):
		return tool_call("search_gesetze", {"query": f"Kündigung {number}"})

	def test_the_agent_list_shows_greeting_and_starters(self):
		(agent,) = [each for each in self.as_user(get_agents) if each["name"] == "Helena"]
		self.assertEqual(agent["description"], GREETING)
		self.assertIn("Welche Fristen laufen in der Akte 2026-021?", agent["starters"])

	def test_the_system_prompt_requires_german_and_names_every_tool(self):
		self.ask("Hello", text(GREETING))
		sent = self.server.requests[0]
		prompt = sent["messages"][0]["content"]
		self.assertIn("immer auf Deutsch", prompt)
		self.assertIn(GREETING, " ".join(prompt.split()))
		for tool in sent["tools"]:
			self.assertIn(f"`{tool['function']['name']}`", prompt)

	def test_case_numbers_are_sent_unmasked_and_mail_addresses_masked(self):
		case = self.make_case(
			anwalt=self.user, gericht_az="17 Ca 412/26", sachverhalt="jana@example.com, 0151 23456789"
		)
		frappe.db.commit()
		self.ask("Lies", tool_call("read_akte_detail", {"akte": case}), text("Gelesen."))
		content = self.server.requests[1]["messages"][-1]["content"]
		self.assertIn("17 Ca 412/26", content)
		self.assertIn(case, content)
		self.assertNotIn("jana@example.com", content)

	def test_a_repeated_call_stalls_with_the_german_stall_message(self):
		result = self.ask("Such", self.read(1), self.read(1), text("Das weiß ich bisher."))
		self.assertEqual((result.stop_reason.value, result.response), ("stalled", "Das weiß ich bisher."))
		self.assertEqual(self.server.requests[-1]["messages"][-1]["content"], STALL)

	def test_progress_events_are_in_german_with_step_numbers(self):
		self.server.script(
			self.read(1),
			tool_calls([call("read_akte", {"akte": self.case}), call("read_fristen", {})]),
			text("Fertig."),
		)
		request = AgentRequest("Helena", "Such", self.user, model=self.model, channel="test")
		events = [event for event in stream_agent(request) if event]
		progress = [event.data["text"] for event in events if event.kind is EventKind.PROGRESS]
		expected = [
			"Schritt 1/5: Durchsuche Gesetze...",
			"Schritt 2/5: Lese die Akte...",
			"Schritt 2/5: Prüfe die Fristen...",
		]
		self.assertEqual(progress, expected)
		self.assertTrue(all(e.data["is_own"] for e in events if e.kind is EventKind.PROGRESS))

	def test_an_inline_run_stops_after_five_steps_and_offers_background_work(self):
		result = self.ask("Such", *(self.read(number) for number in range(5)), text("Bisher nichts."))
		self.assertEqual((result.stop_reason.value, result.steps), ("max_steps", 5))
		self.assertTrue(result.response.endswith(OFFER), result.response)

	def test_a_background_run_stops_after_twenty_steps_without_an_offer(self):
		result = self.ask(
			"Such", *(self.read(number) for number in range(20)), text("Nichts."), mode=Mode.BACKGROUND
		)
		self.assertEqual((result.stop_reason.value, result.steps), ("max_steps", 20))
		self.assertNotIn(OFFER, result.response)

	def test_a_long_task_is_queued_and_a_short_question_runs_inline(self):
		long_task = (
			"Durchsuche alle Akten nach Schimmel, schlage dann die Gesetze und Urteile nach und erstelle danach für jede Akte "
			"einen Entwurf und eine Frist, und schreibe zum Schluss eine Notiz mit dem Ergebnis der ganzen Recherche für mich."
		)
		self.set_default_model(self.model)
		self.addCleanup(self.set_default_model, None)
		self.server.strict = False
		for prompt, kind in (
			(long_task, EventKind.RUN_QUEUED),
			("Was ist eine Notfrist?", EventKind.RUN_STARTED),
		):
			self.server.script(text("Eine unverlängerbare Frist."))
			events = [e for e in stream_agent(AgentRequest("Helena", prompt, self.user, channel="test")) if e]
			self.assertEqual(events[0].kind, kind, prompt)

	def test_each_call_records_its_sources(self):
		result = self.ask(
			"Such", tool_call("search_gesetze", {"query": "§ 536 BGB", "limit": 1}), text("(§ 536 BGB)")
		)
		tool_result = frappe.get_all("Agent Tool Call", {"run": result.run}, ["result"])[0].result
		self.assertEqual(
			read_sources(tool_result),
			[{"doctype": "Helena Gesetz", "name": "§ 536 BGB", "title": "§ 536 BGB"}],
		)
		self.assertLess(len(json.loads(tool_result)["results"][0]["excerpt"]), 260)
