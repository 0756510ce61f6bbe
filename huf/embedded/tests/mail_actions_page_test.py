"""Actions on a mail's page, mostly for mail that could not be classified, and the list of rules."""

from huf.embedded.tests.browser import needs_browser
from huf.embedded.tests.pages import ADMIN, PageTestCase
from huf.tests.base import enter
from huf.tests.model_server import ModelServer, text

SETTINGS = "/api/resource/Huf%20Settings/Huf%20Settings"
MAIL = "/api/method/huf.api.mail."
CLERK = "clerk@office.example"
NO_CATEGORY = "named none of the categories"


@needs_browser
class TestMailActions(PageTestCase):
	@classmethod
	def setUpClass(cls):
		super().setUpClass()
		cls.model = enter(cls, ModelServer())
		cls.make("AI Provider", provide_name="Scripted", api_key="sk-test", api_base=cls.model.base_url)
		cls.make("AI Model", model_name="scripted", provider="Scripted")
		categories = "question: Questions\n- newsletter: Advertising"
		cls.call(SETTINGS, {"default_model": "scripted", "mail_categories": categories}, "PUT")
		cls.make("Agent Mailbox", mailbox_name="Office", email="office@office.example", run_as=ADMIN)

	def test_unclassified_mail_is_assigned_a_category_and_gets_a_draft(self):
		page = self.open_unclassified("Aspirin")
		for name in ("reply", "assign", "reclassify", "run-again"):
			self.assertTrue(page.get_by_test_id(name).is_enabled(), name)
		self.model.script(text("Yes, we do."))
		page.get_by_test_id("reclassify").click()
		page.get_by_test_id("category").select_option("question")
		page.get_by_test_id("category-save").click()
		page.locator("[data-testid=reply]:focus").wait_for()
		page.locator("[data-testid=draft][data-status=Draft]").wait_for()
		self.assertEqual(page.get_by_test_id("draft-text").input_value(), "Yes, we do.")
		page.locator("[data-testid=mail][data-status=Done]").wait_for()
		self.assertEqual(page.locator("[data-testid=mail] header").get_by_text(NO_CATEGORY).count(), 0)

	def test_unclassified_mail_is_classified_again_by_the_model(self):
		page = self.open_unclassified("Sale")
		self.model.script(text("newsletter"))
		page.get_by_test_id("run-again").click()
		page.locator("[data-testid=mail][data-status=Done]").wait_for()
		page.get_by_test_id("mail-run").get_by_text("newsletter").wait_for()

	def test_manual_reply_to_an_unclassified_mail_survives_a_reload(self):
		page = self.open_unclassified("Bandages")
		page.get_by_test_id("reply").click()
		page.locator("[data-testid=draft][data-status=Draft]").wait_for()
		page.get_by_test_id("draft-text").fill("We have ten.")
		page.reload()
		page.locator("[data-testid=draft][data-status=Draft]").wait_for()
		self.assertEqual(page.get_by_test_id("draft-text").input_value(), "We have ten.")
		page.get_by_test_id("save-draft").click()
		page.goto("/huf/drafts")
		page.get_by_test_id("drafts-replies").get_by_text("Re: Bandages").click()
		page.locator("[data-testid=draft][data-status=Draft]").wait_for()
		self.assertEqual(page.get_by_test_id("draft-text").input_value(), "We have ten.")

	def test_two_people_who_edit_one_draft_see_each_others_changes_before_one_is_saved(self):
		page = self.open_unclassified("Thermometers")
		page.get_by_test_id("reply").click()
		page.locator("[data-testid=draft][data-status=Draft]").wait_for()
		field = page.get_by_test_id("draft-text")
		field.fill("We have ten.")
		(mail,) = self.call(f"{MAIL}get_mails?status=Draft&limit=1")["message"]
		save = {"name": mail["name"], "text": "We have none."}
		self.call(f"{MAIL}save_draft", save)
		page.get_by_test_id("overtaken").get_by_text("We have none.").wait_for()
		page.reload()
		page.get_by_test_id("overtaken").get_by_text("We have none.").wait_for()
		self.assertEqual(field.input_value(), "We have ten.")
		self.assertFalse(page.get_by_test_id("approve").is_enabled())
		page.get_by_test_id("take-stored").click()
		page.get_by_test_id("overtaken").wait_for(state="detached")
		self.assertEqual(field.input_value(), "We have none.")
		field.fill("We have two.")
		self.call(f"{MAIL}save_draft", {**save, "text": "Ask again in May."})
		page.get_by_test_id("overtaken").get_by_text("Ask again in May.").wait_for()
		page.get_by_test_id("keep-mine").click()
		page.get_by_test_id("save-draft").click()
		page.locator("[data-testid=save-draft]:disabled").wait_for()
		page.wait_for_timeout(5_000)  # longer than the page takes to load the draft again
		self.assertEqual(page.get_by_test_id("overtaken").count(), 0)
		(mail,) = self.call(f"{MAIL}get_mail?name={mail['name']}")["message"]["drafts"]
		self.assertEqual(mail["text"], "We have two.")

	def test_the_text_of_a_reply_that_somebody_else_discards_is_kept_for_its_author(self):
		page = self.open_unclassified("Gauze")
		page.get_by_test_id("reply").click()
		page.locator("[data-testid=draft][data-status=Draft]").wait_for()
		page.get_by_test_id("draft-text").fill("We have ten.")
		(mail,) = self.call(f"{MAIL}get_mails?status=Draft&limit=1")["message"]
		self.call(f"{MAIL}discard_draft", {"name": mail["name"]})
		page.get_by_test_id("unsent").get_by_text("We have ten.").wait_for()
		page.reload()
		page.get_by_test_id("unsent").get_by_text("We have ten.").wait_for()
		page.get_by_test_id("take-stored").click()
		page.get_by_test_id("unsent").wait_for(state="detached")
		page.get_by_test_id("reply").click()
		page.get_by_test_id("draft-text").fill("We have two.")
		page.get_by_test_id("discard").click()
		page.get_by_test_id("draft-text").wait_for(state="detached")
		self.assertEqual(page.get_by_test_id("unsent").count(), 0)

	def test_a_draft_in_the_list_opens_the_mail_it_answers_and_its_own_page_discards_it(self):
		page = self.open_unclassified("Plasters")
		page.get_by_test_id("reply").click()
		page.locator("[data-testid=draft][data-status=Draft]").wait_for()
		page.goto("/huf/mail")
		draft = page.locator("[data-testid=mail-item][data-status=Draft]").filter(has_text="Re: Plasters")
		name = draft.get_attribute("data-name")
		draft.click()
		page.locator("[data-testid=mail][data-status=Failed]").get_by_test_id("approve").wait_for()
		page.goto(f"/huf/mail/{name}")
		page.get_by_test_id("discard").click()
		page.locator("[data-testid=mail][data-status=Discarded]").wait_for()

	def test_a_user_without_a_mailbox_finds_the_mail_that_is_assigned_to_them(self):
		self.add_user(CLERK, "Huf User")
		with self.open_page("/huf", user=CLERK) as page:
			page.get_by_test_id("section-runs").wait_for()
			self.assertEqual(page.get_by_test_id("section-mail").count(), 0)
		page = self.open_unclassified("Ointment")
		page.get_by_test_id("assign").click()
		page.get_by_test_id("assign-user").fill(CLERK)
		page.get_by_test_id("link-choice").first.click()
		page.get_by_test_id("assign-save").click()
		page.locator("[data-kind=escalated]").wait_for()
		with self.open_page("/huf", user=CLERK) as page:
			page.get_by_test_id("section-mail").click()
			page.get_by_test_id("mail-item").filter(has_text="Ointment").click()
			page.get_by_test_id("mail-text").wait_for()
			page.goto("/huf/mail")
			page.get_by_test_id("mail-item").wait_for()
			self.assertEqual(page.get_by_test_id("view-rules").count(), 0)

	def open_unclassified(self, subject: str):
		"""Open, from the list, the page of a mail whose classification has failed."""
		self.model.script(text("I cannot say"))
		self.call(
			"/api/method/huf.embedded.tests.samples.take_mail", {"mailbox": "Office", "subject": subject}
		)
		page = enter(self, self.open_page("/huf/mail"))
		failed = page.locator("[data-testid=mail-item][data-status=Failed]").filter(has_text=subject)
		failed.wait_for()
		failed.click()
		page.locator("[data-testid=mail][data-status=Failed] header").get_by_text(NO_CATEGORY).wait_for()
		return page

	def test_unreachable_rule_is_marked_with_the_rule_that_blocks_it(self):
		rules = ("Invoices", 10, {"subject_contains": "invoice"}), ("Rest", 20, {"match_all": 1})
		for name, position, match in (*rules, ("Late", 30, {"sender_domain": "late.example"})):
			self.make("Agent Route Rule", rule_name=name, position=position, route="pipeline", **match)
		self.addCleanup(self.remove_rules, "Invoices", "Rest", "Late")
		with self.open_page("/huf/mail?view=rules") as page:
			blocked = page.get_by_test_id("rule-blocked")
			blocked.wait_for()
			self.assertEqual(blocked.count(), 1)
			marked = page.get_by_test_id("rule-item").filter(has=blocked)
			self.assertEqual(marked.get_by_test_id("rule-open").get_attribute("data-name"), "Late")
			self.assertIn("Rest", blocked.inner_text())

	def remove_rules(self, *names: str) -> None:
		for name in names:
			self.call(f"/api/resource/Agent%20Route%20Rule/{name}", method="DELETE")
