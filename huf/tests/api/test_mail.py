"""Mail over REST: rules are tested and backtested; only permitted users read mails."""

import frappe

from huf.ai.core.errors import UsageError
from huf.ai.mail import store
from huf.ai.mail.intake import get_own_addresses
from huf.api import mail as api
from huf.tests.ai.mail.test_drafts import DraftingTestCase
from huf.tests.factories import make_user
from huf.tests.mail import events, row


class TestMailApi(DraftingTestCase):
	def test_testing_a_rule_on_a_stored_mail_changes_nothing(self):
		rule = self.rule(sender_domain="customer.example", subject_contains="invoice")
		before = (len(events(self.mail)), row(self.mail).modified)
		tested = api.test_rule(rule, self.mail)
		self.assertEqual(
			(tested["fits"], [check["ok"] for check in tested["checks"]]), (False, [True, False])
		)
		self.assertEqual((len(events(self.mail)), row(self.mail).modified), before)

	def test_an_unsaved_change_of_a_rule_is_tested_on_a_mail(self):
		rule = self.rule(sender_domain="customer.example")
		stored = frappe.get_doc("Agent Route Rule", rule).as_dict()
		for domain, fits in (("customer.example", True), ("supplier.example", False)):
			values = {**stored, "sender_domain": domain}
			self.assertEqual(api.test_rule(rule, self.mail, values)["fits"], fits)
			self.assertEqual(bool(api.backtest_rule(rule, values, days=1)["taken"]), fits)
		unnamed = {"sender_domain": "customer.example", "route": "pipeline"}
		self.assertTrue(api.test_rule("", self.mail, unnamed)["fits"])

	def test_an_unsaved_rule_can_be_backtested_on_past_mail(self):
		values = {
			"rule_name": "Unsaved",
			"position": -1,
			"route": "pipeline",
			"header_match": f'{{"To": "{self.address}"}}',
		}
		backtest = api.backtest_rule(values=values, days=1)
		self.assertEqual([each["mail"] for each in backtest["taken"]], [self.mail])
		self.assertFalse(frappe.db.exists("Agent Route Rule", "Unsaved"))
		self.assertEqual(len(api.backtest_rule(values={**values, "route": None}, days=1)["taken"]), 1)
		unnamed = {"sender_email": "nobody@customer.example", "route": "pipeline"}
		self.assertEqual(api.backtest_rule(values=unnamed, days=1)["taken"], [])

	def test_backtest_refuses_an_invalid_unsaved_rule(self):
		headers = ({"header_match": "{"}, {"header_match": {"To": "x"}})
		for values in ({"route": "nowhere"}, *headers, {"subject_contains": ["x"]}):
			with self.subTest(values), self.assertRaises(frappe.ValidationError):
				api.backtest_rule(values={"rule_name": "Unsaved", "match_all": 1, **values})
		self.assertRaises(UsageError, api.backtest_rule, values="[1]")

	def test_a_test_without_a_rule_says_what_it_needs(self):
		for test in (lambda: api.test_rule(None, self.mail), lambda: api.backtest_rule(values={})):
			with self.assertRaisesRegex(UsageError, "Name a rule"):
				test()

	def test_a_mail_is_shown_with_its_drafts_and_events_to_permitted_users(self):
		draft = self.draft("Hello")["draft"]
		page = api.get_mail(self.mail)
		self.assertEqual(
			(page["mail"]["name"], [each["name"] for each in page["drafts"]]), (self.mail, [draft])
		)
		self.assertEqual([each["kind"] for each in page["events"]], ["received", "routed", "draft_created"])
		frappe.set_user(make_user("Huf User"))
		self.assertRaises(frappe.PermissionError, api.get_mail, self.mail)
		self.assertEqual(api.get_mails(mailbox=self.mailbox), [])

	def test_saving_an_invalid_rule_is_refused(self):
		for values in (
			{},
			{"sender_email": "anna"},
			{"header_match": "{"},
			{"header_match": '{"X": "("}'},
			{"match_all": 1, "route": "agent"},
			{"match_all": 1, "preprocessor": "gone"},
		):
			with self.subTest(values), self.assertRaises(frappe.ValidationError):
				self.rule(**{"route": "pipeline", **values})

	def test_a_manager_cannot_make_a_mailbox_run_as_another_user(self):
		frappe.set_user(make_user("Huf Manager"))
		doc = frappe.get_doc("Agent Mailbox", self.mailbox)
		doc.run_as = "Administrator"
		self.assertRaises(frappe.PermissionError, doc.save)

	def test_a_new_mailbox_reads_the_mail_of_the_second_in_which_it_was_set_up(self):
		since = frappe.db.get_value("Agent Mailbox", self.mailbox, "since")
		self.assertEqual(since.microsecond, 0, "mail servers tell the time of a mail in whole seconds")

	def test_mailbox_needs_exactly_one_valid_address(self):
		doc = frappe.get_doc("Agent Mailbox", self.mailbox)
		for email in ("Office <a@b.example>", "a@b.example, c@d.example", "jörg@b.example"):
			doc.email = email
			with self.subTest(email), self.assertRaises(frappe.ValidationError):
				doc.save()

	def test_aliases_of_a_mailbox_are_addresses(self):
		doc = frappe.get_doc("Agent Mailbox", self.mailbox)
		for aliases in ("Info <info@a.example>", "info@a.example and help@a.example"):
			doc.aliases = aliases
			with self.subTest(aliases), self.assertRaises(frappe.ValidationError):
				doc.save()
		doc.reload()
		doc.aliases = "Info@a.example\nhelp@a.example; x@b.example,"
		doc.save()
		self.assertEqual(len(get_own_addresses(doc)), 4)

	def test_mailbox_cannot_be_renamed(self):
		with self.assertRaisesRegex(frappe.ValidationError, "renamed"):
			frappe.rename_doc("Agent Mailbox", self.mailbox, f"{self.mailbox} 2")

	def test_saving_a_stale_mailbox_form_keeps_the_imap_position(self):
		doc = frappe.get_doc("Agent Mailbox", self.mailbox)
		store.set_position(self.mailbox, "7", 40)
		doc.sender_name = "Office"
		doc.save()
		self.assertEqual(store.read_position(self.mailbox).last_uid, 40)
