"""Helena's read tools: every parameter, and only records that the user may read."""

from unittest.mock import patch

import frappe
from frappe.utils import today

from huf.ai.core.errors import ToolError
from huf.ai.core.json_text import to_text
from huf.ai.core.session import acting_as
from huf.ai.tools.sources import read_sources
from huf.packs.helena import cases, citations, tools
from huf.tests.factories import make, make_user
from huf.tests.packs.helena import HelenaTestCase


class TestCases(HelenaTestCase):
	def test_a_case_summary_has_counts_and_omits_the_facts(self):
		self.document("Vertrag")
		self.deadline(3)
		found = self.as_user(tools.read_akte, self.case)
		self.assertEqual(found["name"], self.case)
		self.assertEqual((found["dokumente"], found["offene_fristen"]), (1, 1))
		self.assertNotIn("sachverhalt", found)

	def test_long_fields_of_a_summary_are_cut(self):
		case = self.make_case(anwalt=self.user, zusammenfassung="Wort " * 100)
		self.assertLess(len(self.as_user(tools.read_akte, case)["zusammenfassung"]), 210)

	def test_case_details_include_facts_and_parties(self):
		case = self.make_case(
			anwalt=self.user, beteiligte=[{"beteiligter": "Jana Sommer", "rolle": "Mandant"}]
		)
		found = self.as_user(tools.read_akte_detail, case)
		self.assertEqual(found["sachverhalt"], "Schimmel im Bad")
		(row,) = found["beteiligte"]
		self.assertEqual((row["beteiligter"], row["rolle"]), ("Jana Sommer", "Mandant"))

	def test_the_case_list_can_be_filtered_by_status(self):
		closed = self.make_case(anwalt=self.user, status="Abgeschlossen")
		names = [row["name"] for row in self.as_user(tools.read_akte)["rows"]]
		self.assertEqual(sorted(names), sorted([self.case, closed]))
		found = self.as_user(tools.read_akte, status="Abgeschlossen")["rows"]
		self.assertEqual([row["name"] for row in found], [closed])

	def test_cases_of_other_users_return_the_same_error_as_missing_cases(self):
		for read in (tools.read_akte, tools.read_akte_detail, tools.read_dokumente, tools.read_fristen):
			for case in (self.other, "99-nowhere"):
				with self.subTest(tool=read.__name__, case=case):
					with self.assertRaisesRegex(ToolError, "There is no Helena Akte"):
						self.as_user(read, case)
		with self.assertRaises(ToolError):
			self.as_user(tools.read_zeiterfassung, self.other)


class TestWhatIsInCases(HelenaTestCase):
	def test_documents_are_listed_without_their_text_newest_first(self):
		self.document("Alt", datum="2026-01-01", inhalt="geheim")
		self.document("Neu", datum="2026-02-01", typ="Schriftsatz")
		rows = self.as_user(tools.read_dokumente, self.case)["rows"]
		self.assertEqual([row["titel"] for row in rows], ["Neu", "Alt"])
		self.assertNotIn("inhalt", rows[1])

	def test_documents_can_be_filtered_by_type_and_limited(self):
		for number in range(3):
			self.document(f"Brief {number}")
		self.document("Klage", typ="Schriftsatz")
		rows = self.as_user(tools.read_dokumente, self.case, typ="Schriftsatz")["rows"]
		self.assertEqual([row["titel"] for row in rows], ["Klage"])
		found = self.as_user(tools.read_dokumente, self.case, limit=2)
		self.assertEqual((found["count"], found["more"]), (2, True))

	def test_document_details_need_access_to_the_case(self):
		mine, theirs = self.document("A", inhalt="Wortlaut"), self.document("B", self.other)
		self.assertEqual(self.as_user(tools.read_dokumente_detail, mine)["inhalt"], "Wortlaut")
		with self.assertRaisesRegex(ToolError, "There is no Helena Dokument"):
			self.as_user(tools.read_dokumente_detail, theirs)

	def test_deadlines_can_be_filtered_by_status(self):
		late, upcoming = self.deadline(-2), self.deadline(5)
		done = self.deadline(9, status="Erledigt")
		expected = {"active": [late, upcoming], "past": [late, done], "all": [late, upcoming, done]}
		for status, names in expected.items():
			rows = self.as_user(tools.read_fristen, self.case, status=status)["rows"]
			self.assertEqual([row["name"] for row in rows], names, status)
		self.assertEqual([row["name"] for row in self.as_user(tools.read_fristen)["rows"]], [late, upcoming])

	def test_the_latest_of_many_past_deadlines_are_listed(self):
		days = [self.deadline(day) for day in (-9, -3, -2, 4, 5)]
		done = self.deadline(-1, status="Erledigt")
		with patch.object(cases, "MAX_ROWS", 2):
			found = self.as_user(tools.read_fristen, self.case, status="past")
		self.assertEqual([row["name"] for row in found["rows"]], [days[2], done])
		self.assertEqual((found["count"], found["more"]), (2, True))

	def test_sum_of_times_covers_all_entries(self):
		for minutes, billable in ((30, 1), (45, 1), (15, 0)):
			values = {"datum": "2026-01-10", "minuten": minutes, "taetigkeit": "x", "abrechenbar": billable}
			make("Helena Zeiteintrag", akte=self.case, **values)
		with patch.object(cases, "MAX_ROWS", 2):
			found = self.as_user(tools.read_zeiterfassung, self.case)
		self.assertEqual((found["count"], found["more"]), (2, True))
		self.assertEqual((found["minuten"], found["minuten_abrechenbar"]), (90, 75))

	def test_a_deadline_says_how_many_days_are_left_and_whether_it_is_overdue(self):
		self.deadline(-2), self.deadline(5)
		late, upcoming = self.as_user(tools.read_fristen, self.case)["rows"]
		self.assertEqual((late["tage"], late["ueberfaellig"]), (-2, True))
		self.assertEqual((upcoming["tage"], upcoming.get("ueberfaellig")), (5, None))

	def test_deadlines_without_a_case_are_limited_to_cases_of_the_user(self):
		self.deadline(1, self.other)
		mine = self.deadline(1)
		rows = self.as_user(tools.read_fristen, status="all")["rows"]
		self.assertEqual([row["name"] for row in rows], [mine])

	def test_time_entries_are_summed_within_a_date_range(self):
		for day, minutes, billable in (("2026-01-10", 30, 1), ("2026-02-10", 45, 1), ("2026-02-11", 15, 0)):
			values = {"datum": day, "minuten": minutes, "taetigkeit": "x", "abrechenbar": billable}
			make("Helena Zeiteintrag", akte=self.case, **values)
		found = self.as_user(tools.read_zeiterfassung, self.case)
		self.assertEqual((found["count"], found["minuten"], found["minuten_abrechenbar"]), (3, 90, 75))
		found = self.as_user(tools.read_zeiterfassung, self.case, von="2026-02-01", bis="2026-02-10")
		self.assertEqual((found["count"], found["minuten"]), (1, 45))
		with self.assertRaisesRegex(ToolError, "YYYY-MM-DD"):
			self.as_user(tools.read_zeiterfassung, self.case, von="gestern")


class TestSearch(HelenaTestCase):
	def test_a_statute_is_found_by_its_paragraph_and_cited(self):
		best = self.as_user(tools.search_gesetze, "§ 536 BGB")["results"][0]
		self.assertEqual((best["citation"], best["score"]), ("§ 536 BGB", 1.0))
		self.assertEqual((best["doctype"], best["name"]), ("Helena Gesetz", "§ 536 BGB"))
		self.assertTrue(best["url"].endswith("/bgb/__536.html"))
		self.assertIn("Mietsache", best["excerpt"])
		self.assertNotIn("wortlaut", best)

	def test_statutes_are_found_by_inflected_words_and_ranked(self):
		found = self.as_user(tools.search_gesetze, "Minderung der Miete wegen Mängeln")["results"]
		self.assertIn("§ 536 BGB", [each["citation"] for each in found[:2]])
		scores = [each["score"] for each in found]
		self.assertEqual(scores, sorted(scores, reverse=True))
		self.assertTrue(all(0 < score <= 1 for score in scores))

	def test_statutes_can_be_filtered_by_code_and_limited(self):
		found = self.as_user(tools.search_gesetze, "Kündigung", gesetz="KSchG", limit=2)["results"]
		self.assertEqual(len(found), 2)
		self.assertTrue(all(each["citation"].endswith("KSchG") for each in found))

	def test_summaries_of_statutes_are_marked_as_summaries(self):
		found = self.as_user(tools.search_gesetze, "§ 543 BGB")["results"][0]
		self.assertEqual(found["ist_zusammenfassung"], 1)

	def test_a_judgment_is_cited_with_court_date_and_number(self):
		best = self.as_user(tools.search_urteile, "VIII ZR 185/14")["results"][0]
		self.assertEqual(best["citation"], "BGH, Urteil vom 18.03.2015 – VIII ZR 185/14")

	def test_judgments_can_be_filtered_by_court_and_limited(self):
		found = self.as_user(tools.search_urteile, "fristlose Kündigung", gericht="BAG")["results"]
		self.assertEqual([each["name"] for each in found], ["2 AZR 541/09"])
		found = self.as_user(tools.search_urteile, "Schimmel", limit=1)["results"]
		self.assertEqual([each["name"] for each in found], ["VIII ZR 271/17"])

	def test_a_template_is_found_by_a_description_of_the_document(self):
		best = self.as_user(tools.search_muster, "Klage gegen Kündigung", limit=3)["results"][0]
		self.assertEqual(best["citation"], "Muster „Kündigungsschutzklage“")

	def test_an_exact_citation_is_found_among_more_matches_than_are_ranked(self):
		# Without digits, which would be read as part of a paragraph's number.
		law = "X" + self.word.translate(str.maketrans("0123456789", "ghijklmnop"))
		for number in range(citations.MAX_RANKED_ROWS + 5):
			values = {"zitat": f"§ {1000 + number} {law}", "gesetz": law, "paragraph": str(1000 + number)}
			make("Helena Gesetz", **values, wortlaut="Text")
		found = self.as_user(tools.search_gesetze, f"§ 1003 {law}", limit=1)["results"]
		self.assertEqual([(each["citation"], each["score"]) for each in found], [(f"§ 1003 {law}", 1.0)])

	def test_excerpts_of_long_texts_surround_the_match(self):
		make(
			"Helena Notiz",
			akte=self.case,
			titel="Lang",
			inhalt=f"{'weit ' * 200} {self.word}x fundort {'weit ' * 50}",
		)
		best = self.as_user(tools.search_alle_akten, f"{self.word}x fundort")["results"][0]
		self.assertIn("fundort", best["excerpt"])
		self.assertLess(len(best["excerpt"]), 260)

	def test_a_search_without_words_is_refused(self):
		with self.assertRaises(ToolError):
			self.as_user(tools.search_gesetze, "?!")


class TestSearchInAllCases(HelenaTestCase):
	def test_words_with_umlauts_are_found_in_any_case(self):
		case = self.make_case(anwalt=self.user, kurzrubrum="Übermüller ./. Ölheizung Ärger GmbH")
		for query in ("Übermüller", "übermüller", "Ölheizung", "ÄRGER"):
			with self.subTest(query):
				found = self.as_user(tools.search_alle_akten, query)["results"]
				self.assertIn(case, [each["name"] for each in found])

	def test_cases_documents_notes_and_deadlines_of_the_users_cases_are_found(self):
		for case in (self.case, self.other):
			make("Helena Dokument", akte=case, titel="Brief", inhalt=self.word)
			make("Helena Notiz", akte=case, titel=self.word, inhalt="x")
			make("Helena Frist", akte=case, bezeichnung=self.word, faellig_am=today())
		found = self.as_user(tools.search_alle_akten, self.word, limit=20)["results"]
		kinds = sorted(each["doctype"] for each in found)
		self.assertEqual(kinds, ["Helena Akte", "Helena Dokument", "Helena Frist", "Helena Notiz"])
		self.assertTrue(all(self.case in each["citation"] for each in found))

	def test_team_members_and_users_with_a_share_find_a_case_and_its_notes(self):
		member, guest, nobody = (make_user("Huf User", "PRAKTIKANT") for _ in range(3))
		case = self.make_case(anwalt=self.user, team=[{"benutzer": member}])
		make("Helena Notiz", akte=case, titel=f"Vermerk {self.word}", inhalt="x")
		frappe.share.add("Helena Akte", case, guest)
		for user, count in ((member, 2), (guest, 2), (nobody, 0), ("Administrator", 4)):
			found = self.as_user(tools.search_alle_akten, self.word, user=user)["results"]
			self.assertEqual(len(found), count, user)

	def test_records_in_cases_of_other_users_are_neither_listed_nor_readable(self):
		made = [
			make("Helena Dokument", akte=self.other, titel="x"),
			make("Helena Frist", akte=self.other, bezeichnung="x", faellig_am=today()),
			make("Helena Zeiteintrag", akte=self.other, minuten=5, taetigkeit="x"),
			make("Helena Notiz", akte=self.other, titel="x", inhalt="y"),
			make("Helena Hinweis", akte=self.other, titel="x", text="y"),
			frappe.get_doc("Helena Akte", self.other),
		]
		with acting_as(self.user):
			for doc in made:
				self.assertEqual(frappe.get_list(doc.doctype, {"name": doc.name}), [], doc.doctype)
				self.assertFalse(frappe.has_permission(doc.doctype, "read", doc=doc.name), doc.doctype)
		frappe.db.set_value("Helena Akte", self.other, "anwalt", self.user)
		with acting_as(self.user):
			for doc in made:
				self.assertEqual(len(frappe.get_list(doc.doctype, {"name": doc.name})), 1, doc.doctype)
				self.assertTrue(frappe.has_permission(doc.doctype, "read", doc=doc.name), doc.doctype)

	def test_the_role_admin_sees_all_cases(self):
		admin = make_user("Huf User", "ADMIN")
		found = self.as_user(tools.search_alle_akten, self.word, user=admin)["results"]
		self.assertEqual({each["name"] for each in found}, {self.case, self.other})

	def test_notes_without_a_case_are_found_by_their_owner_only(self):
		self.as_user(lambda: make("Helena Notiz", titel=f"Allgemein {self.word}", inhalt="x"))
		other = make_user("Huf User", "ANWALT")
		kinds = [each["doctype"] for each in self.as_user(tools.search_alle_akten, self.word)["results"]]
		self.assertIn("Helena Notiz", kinds)
		self.assertEqual(self.as_user(tools.search_alle_akten, self.word, user=other)["results"], [])


class TestSources(HelenaTestCase):
	def test_results_of_every_read_tool_have_citable_sources(self):
		document, _ = self.document("Vertrag"), self.deadline(3)
		make("Helena Zeiteintrag", akte=self.case, minuten=5, taetigkeit="x")
		calls = (
			(tools.read_akte, self.case),
			(tools.read_akte_detail, self.case),
			(tools.read_dokumente, self.case),
			(tools.read_dokumente_detail, document),
			(tools.read_fristen, self.case),
			(tools.read_zeiterfassung, self.case),
			(tools.search_gesetze, "Verjährung"),
			(tools.search_urteile, "Kündigung"),
			(tools.search_muster, "Klage"),
			(tools.get_kosten_rules, 5000),
			(tools.search_alle_akten, self.word),
		)
		for tool, argument in calls:
			found = read_sources(to_text(self.as_user(tool, argument)))
			self.assertTrue(found and all(each["doctype"] and each["name"] for each in found), tool.__name__)


class TestFees(HelenaTestCase):
	def test_a_query_without_a_value_returns_table_numbers_and_rules(self):
		found = self.as_user(tools.get_kosten_rules)
		self.assertEqual(found["tabelle"][:2], [[500, 51.5], [1000, 93]])
		self.assertEqual(found["tabelle"][-1], [500000, 3752])
		numbers = {each["nummer"]: each for each in found["nummern"]}
		self.assertEqual((numbers["2300"]["satz_von"], numbers["2300"]["satz_bis"]), (0.5, 2.5))
		self.assertTrue(any("§ 2 Abs. 2" in rule for rule in found["regeln"]))

	def test_get_kosten_rules_uses_the_fee_table_of_the_order_date(self):
		fees = [
			self.as_user(tools.get_kosten_rules, 5000, auftrag_am=day)["volle_gebuehr"]
			for day in ("2025-05-31", "2025-06-01", None)
		]
		self.assertEqual(fees, [334, 354.5, 354.5])
		with self.assertRaisesRegex(ToolError, "2021"):
			self.as_user(tools.get_kosten_rules, 5000, auftrag_am="2019-01-01")

	def test_a_bill_has_line_amounts_and_a_total(self):
		items = [{"nummer": "2300", "satz": "1.5"}, {"nummer": "7002"}, {"nummer": "7008"}]
		found = self.as_user(tools.get_kosten_rules, 5000, items, auftraggeber=2)["rechnung"]
		self.assertEqual([line["betrag"] for line in found["zeilen"]], [638.1, 20.0, 125.04])
		self.assertEqual(found["zeilen"][0]["satz"], 1.8)
		self.assertEqual(found["summe"], 783.14)

	def test_invalid_bill_items_and_values_are_refused(self):
		for wrong in (
			[{"nummer": "9999"}],
			[{"nummer": "2300", "satz": 3}],
			[{"nummer": "2300", "satz": "1,3"}],
		):
			with self.subTest(wrong=wrong), self.assertRaises(ToolError):
				self.as_user(tools.get_kosten_rules, 5000, wrong)
		with self.assertRaises(ToolError):
			self.as_user(tools.get_kosten_rules, None, [{"nummer": "2300"}])
		with self.assertRaises(ToolError):
			self.as_user(tools.get_kosten_rules, -1)
