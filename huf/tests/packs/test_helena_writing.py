"""Helena's write tools: every parameter, no change before approval, and the rights of each role."""

import io
import json
import time

import frappe
from docx import Document
from frappe.utils import today

from huf.ai.agents.tool_factory import create_agent_tools
from huf.ai.chat.approvals import approve_call, reject_call
from huf.ai.core.errors import ToolError
from huf.ai.core.session import acting_as
from huf.ai.core.types import AgentRequest, Effect
from huf.ai.routing.languages import detect_language
from huf.ai.runs.entry import run_agent
from huf.ai.runs.queue import work_on
from huf.packs.helena import rendering, tools
from huf.tests.base import enter
from huf.tests.factories import make, make_model, make_user
from huf.tests.model_server import ModelServer, text, tool_call
from huf.tests.packs.helena import ROLES, HelenaTestCase

READ = {
	*("read_akte", "read_akte_detail", "read_dokumente", "read_dokumente_detail", "read_fristen"),
	*("read_zeiterfassung", "search_gesetze", "search_urteile", "search_muster", "get_kosten_rules"),
	*("search_alle_akten", "search_web"),
}
WRITE = {
	*("create_draft_dokument", "create_draft_frist", "create_notiz", "create_alert"),
	*("update_akte_rag", "create_draft_zeiterfassung"),
}
WRITTEN_BY = {
	"ADMIN": WRITE,
	"ANWALT": WRITE,
	"SACHBEARBEITER": WRITE - {"update_akte_rag"},
	"SEKRETARIAT": {"create_notiz"},
	"PRAKTIKANT": set(),
}


class TestRights(HelenaTestCase):
	def test_tool_descriptions_are_english_with_german_legal_terms(self):
		described = [tool.description for tool in self.as_user(create_agent_tools, "Helena")]
		self.assertEqual({detect_language(each) for each in described}, {"en"})
		for term in ("Akte", "Dokument", "Frist", "Muster", "Notiz", "Rechtsgebiet"):
			self.assertTrue([each for each in described if term in each], term)

	def test_each_role_has_exactly_its_tools(self):
		for role in ROLES:
			user = make_user("Huf User", role)
			names = {tool.name for tool in self.as_user(create_agent_tools, "Helena", user=user)}
			self.assertEqual(names, READ | WRITTEN_BY[role], role)

	def test_users_without_a_pack_role_cannot_start_a_run(self):
		stranger = make_user("Huf User")
		with self.assertRaises(frappe.PermissionError):
			run_agent(AgentRequest("Helena", "Hallo", stranger))

	def test_exactly_the_write_tools_need_approval(self):
		made = self.as_user(create_agent_tools, "Helena")
		self.assertEqual({tool.name for tool in made if tool.needs_approval}, WRITE)
		self.assertEqual({tool.name for tool in made if tool.effect is Effect.WRITE}, WRITE)

	def test_write_functions_check_document_permissions(self):
		user = make_user("Huf User", "PRAKTIKANT")
		case = self.make_case(team=[{"benutzer": user}])
		with self.assertRaises(frappe.PermissionError):
			self.as_user(tools.create_notiz, "x", "y", case, user=user)
		clerk = make_user("Huf User", "SACHBEARBEITER")
		case = self.make_case(team=[{"benutzer": clerk}])
		with self.assertRaises(frappe.PermissionError):
			self.as_user(tools.update_akte_rag, case, status="Ruhend", user=clerk)


class TestProposals(HelenaTestCase):
	def test_a_document_is_a_draft_with_its_text_and_template(self):
		made = self.as_user(
			tools.create_draft_dokument,
			self.case,
			"Anzeige",
			"# Schimmel",
			"Schriftsatz",
			"markdown",
			"Mahnschreiben",
		)
		doc = frappe.get_doc("Helena Dokument", made["name"])
		self.assertEqual(
			(doc.akte, doc.titel, doc.typ, doc.status), (self.case, "Anzeige", "Schriftsatz", "Entwurf")
		)
		self.assertEqual((doc.inhalt, doc.format, doc.muster), ("# Schimmel", "markdown", "Mahnschreiben"))

	def test_tags_that_never_end_are_converted_in_time(self):
		began = time.monotonic()
		rendering.html_to_markdown("<h1" * 60_000)
		self.assertLess(time.monotonic() - began, 5)

	def test_a_word_file_is_rendered_once_from_markdown_or_html(self):
		for form, words in (
			("markdown", "# Betreff\n\nErster Satz."),
			("html", "<h1>Betreff</h1><p>Erster <b>Satz</b>.</p>"),
		):
			made = self.as_user(tools.create_draft_dokument, self.case, "Brief: 1/2", words, format=form)
			frappe.db.commit()
			file = frappe.get_doc("File", rendering.render(made["name"]))
			self.assertEqual(
				(file.file_name[-5:], file.is_private, file.attached_to_name), (".docx", 1, made["name"])
			)
			written = [each.text for each in Document(io.BytesIO(file.get_content())).paragraphs]
			self.assertEqual(written, ["Brief: 1/2", "Betreff", "Erster Satz."])
			self.assertEqual(rendering.render(made["name"]), file.name)

	def test_a_deadline_has_its_kind_reminder_and_statute(self):
		made = self.as_user(
			tools.create_draft_frist,
			self.case,
			"Berufung",
			"2030-05-31",
			"Notfrist",
			"2030-05-24",
			"§ 517 ZPO",
		)
		row = frappe.get_doc("Helena Frist", made["name"])
		self.assertEqual(
			(row.bezeichnung, row.art, row.rechtsgrundlage), ("Berufung", "Notfrist", "§ 517 ZPO")
		)
		self.assertEqual(
			(str(row.faellig_am), str(row.vorfrist_am), row.status), ("2030-05-31", "2030-05-24", "Offen")
		)

	def test_a_deadline_with_an_invalid_date_or_late_reminder_is_refused(self):
		for due, before in (("morgen", None), ("2030-02-30", None), ("2030-05-01", "2030-05-02")):
			with self.subTest(due=due), self.assertRaises(ToolError):
				self.as_user(tools.create_draft_frist, self.case, "x", due, vorfrist_am=before)

	def test_a_note_belongs_to_a_case_or_to_none(self):
		for case in (self.case, None):
			made = self.as_user(tools.create_notiz, "Recherche", "Ergebnis", case)
			row = frappe.get_doc("Helena Notiz", made["name"])
			self.assertEqual(
				(row.titel, row.inhalt, row.akte, row.owner), ("Recherche", "Ergebnis", case, self.user)
			)

	def test_an_alert_has_one_of_three_severities(self):
		for severity in ("info", "warning", "critical"):
			made = self.as_user(tools.create_alert, "Achtung", "Text", severity, self.case)
			row = frappe.get_doc("Helena Hinweis", made["name"])
			self.assertEqual((row.schwere, row.text, row.akte), (severity, "Text", self.case))
		(tool,) = [each for each in self.as_user(create_agent_tools, "Helena") if each.name == "create_alert"]
		with self.assertRaises(ToolError):
			self.as_user(tool.work, {"titel": "x", "text": "y", "severity": "fatal"})

	def test_update_akte_rag_changes_summary_status_tags_and_field_of_law_only(self):
		self.as_user(tools.update_akte_rag, self.case, "Neu", "Ruhend", ["Schimmel", " Miete "], "Mietrecht")
		row = frappe.get_doc("Helena Akte", self.case)
		self.assertEqual((row.zusammenfassung, row.status), ("Neu", "Ruhend"))
		self.assertEqual(
			(row.tags, row.rechtsgebiet, row.sachverhalt), ("Schimmel, Miete", "Mietrecht", "Schimmel im Bad")
		)
		self.as_user(tools.update_akte_rag, self.case, tags=[])
		self.assertFalse(frappe.db.get_value("Helena Akte", self.case, "tags"))
		with self.assertRaisesRegex(ToolError, "what to change"):
			self.as_user(tools.update_akte_rag, self.case)
		with self.assertRaises(frappe.ValidationError):
			self.as_user(tools.update_akte_rag, self.case, rechtsgebiet="Raketenrecht")

	def test_a_time_entry_defaults_to_the_current_user_and_today(self):
		made = self.as_user(tools.create_draft_zeiterfassung, self.case, 30, "Telefonat")
		row = frappe.get_doc("Helena Zeiteintrag", made["name"])
		self.assertEqual((row.minuten, row.taetigkeit, row.abrechenbar), (30, "Telefonat", 1))
		self.assertEqual((str(row.datum), row.bearbeiter), (today(), self.user))
		made = self.as_user(tools.create_draft_zeiterfassung, self.case, 5, "Ablage", "2026-01-05", False)
		row = frappe.get_doc("Helena Zeiteintrag", made["name"])
		self.assertEqual((str(row.datum), row.abrechenbar), ("2026-01-05", 0))
		for minutes in (0, -5, 1441):
			with self.assertRaises(ToolError):
				self.as_user(tools.create_draft_zeiterfassung, self.case, minutes, "x")

	def test_writing_to_a_case_of_another_user_is_refused(self):
		for propose in (
			lambda case: tools.create_draft_dokument(case, "x", "y"),
			lambda case: tools.create_draft_frist(case, "x", "2030-01-01"),
			lambda case: tools.create_notiz("x", "y", case),
			lambda case: tools.create_alert("x", "y", akte=case),
			lambda case: tools.update_akte_rag(case, "x"),
			lambda case: tools.create_draft_zeiterfassung(case, 5, "x"),
		):
			with self.assertRaisesRegex(ToolError, "There is no Helena Akte"):
				self.as_user(propose, self.other)

	def test_moving_a_note_needs_access_to_both_cases(self):
		theirs = make("Helena Notiz", akte=self.other, titel="x", inhalt="y").name
		mine = make("Helena Notiz", akte=self.case, titel="x", inhalt="y").name
		for name, case in ((theirs, self.case), (mine, self.other)):
			with acting_as(self.user), self.assertRaises(frappe.PermissionError):
				doc = frappe.get_doc("Helena Notiz", name)
				doc.akte = case
				doc.save()


class TestApproval(HelenaTestCase):
	def setUp(self):
		super().setUp()
		self.server = enter(self, ModelServer())
		self.model = make_model(self.server)
		frappe.db.commit()

	def propose(self, tool: str, arguments: dict, *answers: str):
		self.server.script(tool_call(tool, arguments), *map(text, answers))
		result = run_agent(
			AgentRequest(
				"Helena", "Bitte", self.user, external_id=frappe.generate_hash(length=8), model=self.model
			)
		)
		self.assertEqual(result.status.value, "Waiting", result)
		frappe.db.rollback()
		return result

	def deadlines(self) -> int:
		frappe.db.rollback()
		return frappe.db.count("Helena Frist", {"akte": self.case})

	def test_every_write_tool_waits_for_approval_with_a_preview(self):
		calls = {
			"create_draft_dokument": {"akte": self.case, "titel": "Brief", "inhalt": "Text"},
			"create_draft_frist": {"akte": self.case, "bezeichnung": "Brief", "faellig_am": "2030-01-02"},
			"create_notiz": {"titel": "Brief", "inhalt": "Text"},
			"create_alert": {"titel": "Brief", "text": "Text", "severity": "critical"},
			"update_akte_rag": {"akte": self.case, "zusammenfassung": "Brief"},
			"create_draft_zeiterfassung": {"akte": self.case, "minuten": 5, "taetigkeit": "Brief"},
		}
		self.assertEqual(set(calls), WRITE)
		for tool, arguments in calls.items():
			card = self.propose(tool, arguments).draft
			(change,) = card["difference"]["changes"]
			self.assertIn("Brief", [each["after"] for each in change["fields"]], tool)
			self.assertEqual((card["tool"], card["approver"]), (tool, self.user))

	def test_a_deadline_is_created_only_after_approval(self):
		result = self.propose(
			"create_draft_frist",
			{"akte": self.case, "bezeichnung": "Klage", "faellig_am": "2030-01-02"},
			"Ist notiert.",
		)
		self.assertEqual(self.deadlines(), 0)
		with acting_as(self.user):
			approve_call(result.draft["draft"], result.draft["digest"])
		frappe.db.commit()
		self.assertEqual(work_on(result.run).response, "Ist notiert.")
		self.assertEqual(self.deadlines(), 1)

	def test_edited_arguments_are_applied_and_rejected_calls_are_not(self):
		given = {"akte": self.case, "bezeichnung": "Klage", "faellig_am": "2030-01-02"}
		result = self.propose("create_draft_frist", given, "Gut.")
		with acting_as(self.user):
			approve_call(result.draft["draft"], result.draft["digest"], {**given, "faellig_am": "2030-01-03"})
		frappe.db.commit()
		work_on(result.run)
		due = frappe.get_all("Helena Frist", {"akte": self.case}, pluck="faellig_am")
		self.assertEqual([str(day) for day in due], ["2030-01-03"])
		result = self.propose("create_draft_frist", {**given, "bezeichnung": "Andere"}, "Schade.")
		with acting_as(self.user):
			reject_call(result.draft["draft"], reason="Doppelt")
		frappe.db.commit()
		self.assertEqual(work_on(result.run).response, "Schade.")
		self.assertEqual(self.deadlines(), 1)
		self.assertIn("Doppelt", json.dumps(self.server.requests[-1]["messages"], ensure_ascii=False))
