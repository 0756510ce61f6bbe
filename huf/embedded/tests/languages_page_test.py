"""The web app uses the language of the user, else of the browser, and the browser's time zone."""

from huf.embedded.tests.browser import needs_browser, say
from huf.embedded.tests.pages import ADMIN, PageTestCase
from huf.tests.model_server import ModelServer, error

CARLA = "carla@example.com"
HOUR_OF_RUN = "() => document.querySelector('[data-testid=run-item] time').innerText"


@needs_browser
class TestLanguages(PageTestCase):
	@classmethod
	def setUpClass(cls):
		super().setUpClass()
		cls.add_user(CARLA, "Huf User")

	def test_browser_language_is_used_with_english_as_fallback(self):
		for locale, words in {"de-AT": "Neuer Chat", "es-MX": "Chat nuevo", "fr-FR": "New chat"}.items():
			with self.open_page(locale=locale) as page:
				page.get_by_test_id("new-chat").filter(has_text=words).wait_for()
				self.assertEqual(page.locator("html").get_attribute("lang"), locale[:2].replace("fr", "en"))

	def test_user_language_overrides_the_browser_language(self):
		self.call(f"/api/resource/User/{CARLA}", {"language": "cs"}, "PUT")
		with self.open_page(user=CARLA, locale="de-DE") as page:
			page.get_by_test_id("section-runs").click()
			page.get_by_role("heading", name="Běhy").wait_for()
			page.get_by_text("Zatím žádné běhy").wait_for()

	def test_forms_are_in_the_language_of_the_page(self):
		with self.open_page("/huf/knowledge", locale="de-DE") as page:
			page.get_by_test_id("new-source").click()
			page.get_by_label("Beschreibung").wait_for()
			page.get_by_test_id("field-source_type").locator("option", has_text="Dateien").wait_for(
				state="attached"
			)

	def test_stored_numbers_can_be_edited_as_the_page_writes_them(self):
		self.make("AI Provider", provide_name="Priced")
		prices = {"own_prices": 1, "input_price": 1.125}
		model = self.make("AI Model", model_name="priced-1", provider="Priced", **prices)["name"]
		with self.open_page(f"/huf/records/AI%20Model/{model}", locale="de-DE") as page:
			price = page.get_by_test_id("field-input_price")
			self.assertEqual(price.input_value(), "1,125")
			price.fill("1,126")
			page.get_by_test_id("save").click()
			page.get_by_test_id("save").wait_for(state="detached")
		self.assertEqual(self.call(f"/api/resource/AI%20Model/{model}")["data"]["input_price"], 1.126)

	def test_server_texts_are_in_the_page_language(self):
		for locale, words in {"de-DE": "kam keine Anfrage an", "cs-CZ": "nepřišel žádný požadavek"}.items():
			with self.open_page("/huf/programs", locale=locale) as page:
				page.get_by_text(words).wait_for()

	def test_doctype_names_and_fields_are_in_the_page_language(self):
		with self.open_page("/huf/records", locale="de-DE") as page:
			page.get_by_test_id("doctype").filter(has_text="Aufgabe").click()
			page.get_by_role("heading", name="Aufgabe").wait_for()
			page.get_by_test_id("new-record").click()
			page.get_by_role("heading", name="Neu: Aufgabe").wait_for()
			page.get_by_label("Fällig am").wait_for()
			page.get_by_role("link", name="Aufgabe", exact=True).wait_for()

	def test_a_draft_names_doctype_and_fields_in_the_page_language(self):
		tools = [{"tool": "create_todo", "requires_approval": 1}]
		self.make("Agent", agent_name="Careful", allow_chat=1, agent_tool=tools)
		with self.open_page("/huf/chat?agent=Careful", locale="de-DE") as page:
			page.get_by_test_id("composer").fill("Create a todo to call Anna")
			page.keyboard.press("Enter")
			page.get_by_test_id("draft-headline").get_by_text("Aufgabe").wait_for()
			page.get_by_test_id("change-field").get_by_text("Beschreibung", exact=True).wait_for()

	def test_the_first_agent_greets_and_answers_in_the_page_language(self):
		for locale, question, answer in (
			("de-DE", "Wie viele Benutzer gibt es?", "Einträge in User"),
			("es-ES", "¿Cuántos usuarios hay?", "registros de User"),
			("cs-CZ", "Kolik je uživatelů?", "Počet záznamů v User"),
		):
			with self.open_page("/huf/chat?agent=Office%20Assistant", locale=locale) as page:
				page.get_by_test_id("starter").filter(has_text=question).click()
				page.get_by_test_id("message-agent").get_by_text(answer).wait_for()

	def test_errors_of_the_site_are_in_the_page_language(self):
		for locale, words in {"de-DE": "Es gibt keinen Benutzer", "es-ES": "No hay ningún usuario"}.items():
			with self.open_page(locale=locale) as page:
				say(page, "Wie viele Benutzer gibt es?")
				chat = page.get_by_test_id("conversation-item").first
				chat.hover()
				chat.get_by_role("button").click()
				page.get_by_test_id("share").click()
				page.get_by_test_id("share-user").fill("nobody@office.example")
				page.get_by_test_id("share-add").click()
				page.get_by_text(words).wait_for()

	def test_failure_of_a_model_is_explained_in_the_page_language(self):
		with ModelServer() as model, self.open_page(locale="de-DE") as page:
			model.script(error(401, "No such key."))
			self.make("AI Provider", provide_name="Strict", api_key="sk-1", api_base=model.base_url)
			self.make("AI Model", model_name="strict", provider="Strict")
			self.make("Agent", agent_name="Refused", model="strict")
			page.goto("/huf/chat?agent=Refused")
			say(page, "Hallo")
			page.get_by_text("Prüfen Sie den API-Schlüssel von Strict").first.wait_for()

	def test_cases_of_a_proposed_agent_are_in_the_word_order_of_the_page_language(self):
		with self.open_page("/huf/new-agent", locale="de-DE") as page:
			page.get_by_test_id("sentence").fill("Beantworte Fragen zu Notizen")
			page.get_by_test_id("propose").click()
			page.get_by_test_id("proposal-case").first.get_by_text("Notiz auflisten").wait_for()

	def test_times_are_shown_in_the_browser_time_zone(self):
		hours = []
		with self.open_page(user=ADMIN) as page:
			say(page, "How many users are there?")
		for zone in ("Asia/Tokyo", "America/Los_Angeles"):
			with self.open_page("/huf/runs", timezone_id=zone) as page:
				page.get_by_test_id("run-item").first.wait_for()
				hours.append(int(page.evaluate(HOUR_OF_RUN).split()[-1].split(":")[0]))
		self.assertIn((hours[0] - hours[1]) % 24, (16, 17))
