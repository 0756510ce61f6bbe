"""Record values never reach a model that is not local: names in any form, addresses, birth dates, numbers."""

import json
import unicodedata
import unittest

import frappe

from huf.ai.chat.messages import send_agent_chat_message
from huf.ai.core.events import EventKind
from huf.ai.core.types import AgentRequest
from huf.ai.providers.masking import ENTITY, INVISIBLE, Masker, read_entity
from huf.ai.providers.personal_records import add_value, build_values, get_record_values, read_records_version
from huf.ai.providers.record_values import RecordValues
from huf.ai.runs.entry import run_agent_sync, stream_agent
from huf.packs.helena import hooks
from huf.tests.base import SiteTestCase, enter
from huf.tests.doctypes import PLAIN, field, make_doctype
from huf.tests.factories import make, make_agent, make_file, make_model, make_tool, make_user
from huf.tests.measuring import assert_bounded
from huf.tests.model_answers import Answer
from huf.tests.model_server import ModelServer, text, tool_call
from huf.tests.personal_data import make_people, make_sentences, read_neutral_sentences
from huf.tests.personal_shapes import PEOPLE, TEXTS

PERSON = "Huf Test Person"
FIELDS = ("full_name", "address", "tax_number", "insurance_number", "born_on")
ERIKA = "Erika Mustermann, geb. 12.03.1970, Heidestraße 17, 51147 Köln, Steuer-ID 65 929 970 489"
SENTENCES_PER_RUN = 30


def make_person_doctype() -> None:
	"""Make a DocType with personal fields and the people of the sentences; commits."""
	if not frappe.db.exists("DocType", PERSON):
		types = {"address": "Small Text", "born_on": "Date"}
		fields = [field(each, types.get(each, "Data")) for each in FIELDS]
		make_doctype(PERSON, fields, [{**PLAIN, "role": "System Manager"}], autoname="hash")
		for person in make_people():
			make(PERSON, **person.as_record())
	settings = frappe.get_doc("Huf Settings")
	settings.personal_fields = f"{PERSON}: {', '.join(FIELDS)}"
	settings.save()
	frappe.db.commit()


def reset_settings() -> None:
	frappe.db.rollback()
	settings = frappe.get_doc("Huf Settings")
	settings.update({"personal_fields": "", "mask_for_local_models": 0})
	settings.save()
	frappe.db.commit()


def read_contents(body: dict) -> str:
	"""The messages of a request without its system message."""
	return "\n".join(str(each.get("content")) for each in body["messages"] if each["role"] != "system")


def echo_contents(body: dict) -> Answer:
	"""Answer with everything that was read."""
	return text(read_contents(body))


class RecordsCase(SiteTestCase):
	def setUp(self):
		super().setUp()
		make_person_doctype()
		self.addCleanup(reset_settings)
		self.server = enter(self, ModelServer())

	def agent(self, *tools: str, **values) -> str:
		return make_agent(make_model(self.server), tools, **{"mask_personal_data": 1, **values})

	def sent(self) -> str:
		return "\n".join(map(read_contents, self.server.requests))


class TestSentences(RecordsCase):
	def test_300_sentences_are_masked_for_the_model_and_unmasked_in_the_answer(self):
		read = make_tool("Get Document", reference_doctype="Note")
		agent, sentences = self.agent(read), make_sentences()
		self.assertEqual(len(sentences), 300)
		for start in range(0, len(sentences), SENTENCES_PER_RUN):
			batch = sentences[start : start + SENTENCES_PER_RUN]
			middle = SENTENCES_PER_RUN // 2
			prompt, note_text = (
				"\n".join(each for _, each in part) for part in (batch[:middle], batch[middle:])
			)
			note = make("Note", title=frappe.generate_hash(), content=note_text).name
			self.server.requests.clear()
			self.server.script(tool_call(read, {"name": note}), echo_contents)
			answer = run_agent_sync(agent, prompt)["response"]
			sent = self.sent()
			for person, sentence in batch:
				with self.subTest(sentence):
					self.assertIn(sentence, answer)
					self.assertFalse(person.find_secrets(sent))

	def test_at_most_one_of_a_hundred_neutral_sentences_is_masked(self):
		"""Only these people are masked, because other tests leave users named "Other" and "Manager"."""
		values = build_values(frappe.local.site, ((PERSON, FIELDS, read_records_version(PERSON)),))
		neutral = read_neutral_sentences()
		self.assertEqual(len(neutral), 1000)
		masked = [each for each in neutral if Masker((), values).mask(each) != each]
		self.assertLessEqual(len(masked), 10, masked)


class TestShapes(unittest.TestCase):
	def test_values_in_tables_markup_and_broken_lines_are_masked_and_restored(self):
		values = RecordValues()
		for *fields, born in PEOPLE:
			for fieldname, value in zip(FIELDS, fields, strict=False):
				add_value(values, fieldname, value, True)
			values.add_date(*born)
		for shape, secrets in TEXTS:
			with self.subTest(shape):
				masker = Masker((), values)
				masked = masker.mask(shape)
				self.assertEqual([each for each in secrets.split("|") if each in masked], [])
				whole = unicodedata.normalize("NFC", ENTITY.sub(read_entity, shape))
				self.assertEqual(masker.unmask(masked), INVISIBLE.sub("", whole))

	def test_text_that_resembles_a_birth_date_is_not_masked(self):
		for sentence in (
			"Frau Keller, geb. Mai, ist seit 1990 dabei.",
			"He was born to lead, and in 1990 he did.",
			"Der Jahrgang 2015 ist im März 2020 verkauft worden.",
			"Nació la idea de vender en mayo; en 2019 se vendió.",
		):
			with self.subTest(sentence):
				self.assertEqual(Masker((), RecordValues()).mask(sentence), sentence)


class TestRecords(RecordsCase):
	def test_name_birth_date_address_and_tax_id_in_a_request_are_masked(self):
		self.server.script(text("[NAME-1]s Anschrift ist [ADDRESS-1]."))
		make(PERSON, full_name="Erika Mustermann")
		frappe.db.commit()
		result = run_agent_sync(self.agent(), f"Mandantin: {ERIKA}. Setze Mustermanns Vertrag auf.")
		sent = self.sent()
		for word in ("Erika", "Mustermann", "1970", "Heidestra", "51147", "Köln", "970 489"):
			self.assertNotIn(word, sent)
		self.assertEqual(result["response"], "Erika Mustermanns Anschrift ist Heidestraße 17.")

	def test_a_run_and_its_calls_say_what_kinds_were_masked_and_how_many(self):
		self.server.script(text("Ja."))
		run = run_agent_sync(self.agent(), ERIKA.removeprefix("Erika Mustermann, ").replace("Steuer-", ""))[
			"run"
		]
		counts = {"BIRTH_DATE": 1, "ADDRESS": 2, "TAX_ID": 1}
		for doctype, filters in (("Agent Run", {"name": run}), ("Agent LLM Call", {"run": run})):
			masked = frappe.db.get_value(doctype, filters, "masked")
			self.assertEqual(json.loads(masked), counts)

	def test_created_changed_and_deleted_records_affect_masking_at_once(self):
		doc = make(PERSON, full_name="Xaverine Quastlhuber")
		self.assertEqual(self.mask("Xaverine Quastlhuber"), "[NAME-1]")
		doc.update({"full_name": "Xaverine Zwirbelhofer"}).save()
		self.assertEqual(self.mask("Frau Zwirbelhofer, Quastlhuber"), "Frau [NAME-1], Quastlhuber")
		doc.delete()
		self.assertEqual(self.mask("Zwirbelhofer"), "Zwirbelhofer")

	def mask(self, original: str) -> str:
		return Masker((), get_record_values()).mask(original)

	def test_users_are_masked_without_a_declaration_but_standard_users_are_not(self):
		user = frappe.get_doc("User", make_user("Huf User"))
		user.update({"first_name": "Zdislava", "last_name": "Křepelková", "birth_date": "1981-07-09"}).save()
		self.assertEqual(self.mask("Zdislava Křepelková, Administrator"), "[NAME-1], Administrator")
		self.assertEqual(self.mask("Křepelkové; Zdislavas Hund"), "[NAME-1.2]; [NAME-2]s Hund")
		self.assertEqual(self.mask("am 9. Juli 1981, 09.07.1981"), "am [BIRTH_DATE-1], [BIRTH_DATE-2]")

	def test_frappe_hooks_contain_the_personal_fields_that_huf_declares(self):
		declared = frappe.get_hooks("huf_personal_data")
		self.assertEqual(declared["Helena Beteiligter"], hooks.huf_personal_data["Helena Beteiligter"])

	def test_settings_refuse_fields_that_the_site_does_not_have(self):
		for line, reason in (
			(f"{PERSON}: shoe_size", "shoe_size is not a field"),
			("Contact", "is not DocType"),
		):
			settings = frappe.get_doc("Huf Settings")
			settings.personal_fields = line
			with self.subTest(line), self.assertRaisesRegex(frappe.ValidationError, reason):
				settings.save()

	def test_the_values_are_read_once_as_long_as_no_record_changes(self):
		self.assertIs(get_record_values(), get_record_values())

	def test_attached_files_are_masked(self):
		self.server.script(text("Gelesen."))
		file = make_file("akte.txt", f"Akte {ERIKA} und Frau {self.someone().last}")
		send_agent_chat_message(self.agent(), "Lies.", None, [file])
		self.assertIn("Akte", self.sent())
		self.assertNotIn("51147", self.sent())
		self.assertNotIn(self.someone().last, self.sent())

	def someone(self):
		return make_people()[0]

	def test_tools_and_streams_get_the_real_name_for_a_placeholder(self):
		person, create = self.someone(), make_tool("Create Document", reference_doctype="ToDo")
		name = f"{person.first} {person.last}"
		self.server.script(
			tool_call(create, {"description": "Rufe [NAME-1] an, [NAME-1]s Akte"}),
			text("[NAME-1] und [NAME-1.2] sind dieselbe Person."),
		)
		request = AgentRequest(self.agent(create), f"Rufe {name} an, {person.last}!", "Administrator")
		deltas = [e.data["text"] for e in stream_agent(request) if e and e.kind is EventKind.TEXT_DELTA]
		self.assertEqual("".join(deltas), f"{name} und {person.last} sind dieselbe Person.")
		self.assertTrue(
			frappe.db.exists("ToDo", {"description": ["like", f"%Rufe {name} an, {name}s Akte%"]})
		)

	def test_local_models_get_real_values_if_mask_for_local_models_is_off(self):
		agent, name = self.agent(), self.someone().last
		provider = frappe.db.get_value("AI Model", frappe.db.get_value("Agent", agent, "model"), "provider")
		frappe.db.set_value("AI Provider", provider, "is_local", 1)
		for setting, is_read in ((0, True), (1, False)):
			settings = frappe.get_doc("Huf Settings")
			settings.mask_for_local_models = setting
			settings.save()
			frappe.db.commit()
			self.server.requests.clear()
			self.server.script(text("Ja."))
			run_agent_sync(agent, f"Wer ist {name}?")
			self.assertEqual(name in self.sent(), is_read)


class TestForms(unittest.TestCase):
	"""Which words are forms of a name, and which are not."""

	def setUp(self):
		self.values = RecordValues()
		for name in ("Thomas Müller", "Jan Novák", "Eva Svobodová", "Mark Lang", "Ludwig van Beethoven"):
			self.values.add_person(name)
		self.values.add_number("DE123456789")

	def mask(self, original: str) -> str:
		masker = Masker((), self.values)
		masked = masker.mask(original)
		self.assertEqual(masker.unmask(masked), original)
		return masked

	def test_inflected_and_differently_spelled_names_are_masked(self):
		for original, masked in (
			("Thomas Müllers Akte, Müller's, Müller’s", "[NAME-1]s Akte, [NAME-1.2]'s, [NAME-1.2]’s"),
			("MÜLLER, Mueller und Muller", "[NAME-1.2], [NAME-1.3] und [NAME-1.4]"),
			("thomas müller", "[NAME-1.2]"),
			("Píšu Janu Novákovi o Evě Svobodové", "Píšu [NAME-1.2]ovi o [NAME-2.2]"),
			("Beethovens Noten", "[NAME-1]s Noten"),
			("DE 123 456 789", "[ID-1.2]"),
		):
			with self.subTest(original):
				self.assertEqual(self.mask(original), masked)

	def test_a_value_in_two_strings_or_lines_has_a_placeholder_in_each(self):
		for original, masked in (
			('["Thomas","Müller"]', '["[NAME-1.2]","[NAME-1.3]"]'),
			("Thomas\nMüller", "[NAME-1.2]\n[NAME-1.3]"),
			('"DE 123\\n456 789"', '"[ID-1.2]\\n[ID-1.3]"'),
		):
			with self.subTest(original):
				self.assertEqual(self.mask(original), masked)

	def test_names_with_escaped_or_decomposed_letters_are_masked(self):
		masker = Masker((), self.values)
		self.assertEqual(masker.mask('{"n": "M\\u00fcller"}'), '{"n": "[NAME-1]"}')
		self.assertEqual(masker.mask("Mu\u0308ller"), "[NAME-1]")

	def test_common_words_are_names_only_beside_a_name_or_after_a_title(self):
		for original in ("Lang ist der Weg.", "ein müller mahlt", "der Markt, die Marke", "Janine und Evi"):
			self.assertEqual(self.mask(original), original)
		self.assertEqual(self.mask("Herr Lang, Mark Lang"), "Herr [NAME-1], [NAME-2]")

	def test_a_name_that_overlaps_an_address_is_masked_completely(self):
		self.values.add_phrase("Müller Straße 5", "ADDRESS")
		self.assertNotIn("Müller", self.mask("Thomas Müller Straße 5"))


class TestTime(unittest.TestCase):
	def test_masking_time_is_bounded_for_hostile_text(self):
		values = RecordValues()
		values.add_person("Anna Berg")
		values.add_number("12 34 56 78 90")
		for unit in (
			"Anna ",
			"12 ",
			"A",
			"A-",
			"1/",
			"Am An der ",
			"calle de la ",
			"Ulice ",
			"99999 A ",
			"[NAME-",
		):
			with self.subTest(unit):
				assert_bounded(
					self, Masker((), values).mask, lambda n, unit=unit: unit * (n // len(unit)), 20_000
				)
