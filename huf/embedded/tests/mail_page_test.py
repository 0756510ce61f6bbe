"""A mailbox and a rule are set up on the page; an incoming mail gets a draft, which is approved and sent."""

import time

from huf.embedded.tests.browser import TIMEOUT_MS, needs_browser
from huf.embedded.tests.mail_test import Postman
from huf.embedded.tests.pages import PageTestCase, choose
from huf.tests.authorization_server import AuthorizationServer
from huf.tests.imap_server import PASSWORD, USER, ImapServer, needs_dovecot
from huf.tests.mail_samples.made import base
from huf.tests.model_server import ModelServer, text, tool_call
from huf.tests.ports import find_free_port


@needs_browser
@needs_dovecot
class TestMailPage(PageTestCase):
	environment = {"OAUTHLIB_INSECURE_TRANSPORT": "1"}

	def test_mailbox_and_rule_are_set_up_and_an_incoming_mail_is_answered(self):
		with ImapServer() as inbox, Postman() as postman, ModelServer() as model:
			self.make_agent(model)
			reply = {"to": "anna@customer.example", "subject": "A mail", "body": "Yes, on Friday."}
			model.script(tool_call("send_reply", reply), text("A reply waits."))
			with self.open_page() as page:
				self.set_up_mailbox(page, inbox, postman)
				self.make_rule(page)
				self.deliver(inbox)
				self.check_draft(page)
				self.approve_draft(page, postman)
				model.script(text("Nothing to add."))
				self.assign_and_run_again(page)
				self.check_rule(page)

	def test_provider_presets_appear_once_the_form_has_loaded(self):
		held_routes, address = [], "**/*huf.api.record.get_meta*"
		with self.open_page("/huf/mail?view=mailboxes") as page:
			page.route(address, lambda route: held_routes.append(route))
			with page.expect_request(address):
				page.get_by_test_id("new-mailbox").click()
			preset = page.get_by_test_id("preset-Microsoft 365")
			self.assertEqual(preset.count(), 0)
			held_routes[0].continue_()
			preset.click()
			page.get_by_test_id("make-app").wait_for()

	def test_pages_say_that_a_mailbox_cannot_be_read(self):
		servers = {"imap_host": "127.0.0.1", "imap_port": find_free_port(), "imap_security": "None"}
		box = {"mailbox_name": "Broken", "email": "broken@office.example", "run_as": "Administrator"}
		self.make("Agent Mailbox", **box, **servers, imap_password="secret-7")
		address = "/api/resource/Agent%20Mailbox/Broken"
		deadline = time.monotonic() + TIMEOUT_MS / 1000
		while not self.call(address)["data"].get("last_error"):
			self.assertLess(time.monotonic(), deadline, "nobody has tried to read it")
			self.call("/api/method/huf.api.mail.sync_mailbox", {"mailbox": "Broken"})
			time.sleep(0.5)
		with self.open_page("/huf") as page:
			problem = page.get_by_test_id("mailbox-problem").filter(has_text="Broken")
			problem.get_by_role("link").click()
			page.locator("[data-testid=mailbox-item][data-name=Broken]").wait_for()
			self.assertEqual(problem.count(), 0)
			page.get_by_test_id("view-mails").click()
			problem.wait_for()
			self.call(address, {"enabled": 0}, "PUT")
			page.reload()
			page.wait_for_load_state("networkidle")
			self.assertEqual(problem.count(), 0)
		self.call(address, method="DELETE")

	def test_a_mailbox_signs_in_by_oauth(self):
		"""The app is created for Microsoft 365, then its addresses are replaced by those of a local server."""
		address = "helpdesk@office.example"
		with (
			AuthorizationServer(address) as provider,
			ImapServer(f"{provider.url}/introspect") as inbox,
			Postman(is_valid=provider.grants.is_valid) as postman,
			self.open_page("/huf/mail?view=mailboxes") as page,
		):
			page.get_by_test_id("new-mailbox").click()
			page.get_by_test_id("field-email").fill(address)
			page.get_by_test_id("preset-Microsoft 365").click()
			self.assertEqual(page.get_by_test_id("field-auth_method").input_value(), "OAuth")
			self.assertEqual(page.get_by_test_id("field-imap_password").count(), 0)
			page.get_by_test_id("make-app").click()
			redirect = page.get_by_test_id("redirect-uri").input_value()
			self.assertTrue(redirect.startswith(self.server.url))
			app = redirect.rpartition("/")[2]
			self.call(f"/api/resource/Connected App/{app}".replace(" ", "%20"), provider.settings, "PUT")
			fields = {"mailbox_name": "By OAuth", "imap_host": "127.0.0.1", "imap_port": str(inbox.port)}
			fields |= {"smtp_host": "127.0.0.1", "smtp_port": str(postman.port)}
			for name, value in fields.items():
				page.get_by_test_id(f"field-{name}").fill(value)
			for name in ("imap_security", "smtp_security"):
				page.get_by_test_id(f"field-{name}").select_option("None")
			choose(page, "run_as", "Administrator")
			page.get_by_test_id("save").click()
			box = page.locator("[data-testid=mailbox-item][data-name='By OAuth']")
			self.assertIn("nobody is signed in", box.inner_text())
			box.get_by_test_id("sign-in").click()
			page.get_by_role("button", name="Allow").click()
			self.assertEqual(
				box.get_by_test_id("tested").inner_text().split("\n"), ["IMAP: works", "SMTP: works"]
			)
			self.assertIn("signed in as Administrator", box.inner_text())
		self.call("/api/resource/Agent%20Mailbox/By%20OAuth", method="DELETE")

	def set_up_mailbox(self, page, inbox: ImapServer, postman: Postman) -> None:
		page.goto("/huf/mail?view=mailboxes")
		page.get_by_test_id("new-mailbox").click()
		page.get_by_test_id("field-email").fill("office@gmail.com")
		page.get_by_test_id("preset-Gmail").click()
		self.assertEqual(page.get_by_test_id("field-smtp_host").input_value(), "smtp.gmail.com")
		self.assertEqual(page.get_by_test_id("field-imap_user").input_value(), "office@gmail.com")
		fields = {"mailbox_name": "Office", "email": "office@office.example", "imap_host": "127.0.0.1"}
		fields |= {"imap_port": str(inbox.port), "imap_user": USER, "imap_password": PASSWORD}
		fields |= {"smtp_host": "127.0.0.1", "smtp_port": str(postman.port), "smtp_user": ""}
		for name, value in fields.items():
			page.get_by_test_id(f"field-{name}").fill(value)
		for name, value in {
			"imap_security": "None",
			"smtp_security": "None",
			"take": "All of the inbox",
		}.items():
			page.get_by_test_id(f"field-{name}").select_option(value)
		choose(page, "run_as", "Administrator")
		page.get_by_test_id("save").click()
		page.get_by_test_id("test-mailbox").click()
		page.get_by_test_id("tested").wait_for()
		self.assertEqual(
			page.get_by_test_id("tested").inner_text().split("\n"), ["IMAP: works", "SMTP: works"]
		)

	def make_rule(self, page) -> None:
		page.get_by_test_id("view-rules").click()
		page.get_by_test_id("new-rule").click()
		page.get_by_test_id("save").click()
		self.assertIn("This field is required", page.get_by_test_id("record-form").inner_text())
		page.get_by_test_id("field-rule_name").fill("Customers")
		page.get_by_test_id("field-sender_domain").fill("customer.example")
		page.get_by_test_id("field-route").select_option("agent")
		choose(page, "profile", "Reader")
		page.get_by_test_id("save").click()
		page.get_by_test_id("rule-item").wait_for()

	def deliver(self, inbox: ImapServer) -> None:
		mail = base()
		mail["Cc"] = "bob@customer.example"
		mail.set_content("Can I come on Friday?")
		inbox.deliver(mail.as_bytes())

	def check_draft(self, page) -> None:
		"""The server receives the mail by itself."""
		page.get_by_test_id("view-mails").click()
		item = page.locator("[data-testid=mail-item][data-status=Done]")
		item.wait_for()
		self.assertIn("Reply waiting", item.inner_text())
		page.goto("/huf")
		page.get_by_test_id("waiting").get_by_test_id("reply-item").wait_for()
		page.goto("/huf/drafts")
		page.get_by_test_id("drafts-replies").get_by_test_id("reply-item").click()
		page.locator("[data-testid=draft][data-status=Draft]").wait_for()
		self.assertIn("may not send mail by itself", page.get_by_test_id("draft-reason").inner_text())
		self.assertIn("Can I come on Friday?", page.get_by_test_id("mail-prompt").inner_text())
		self.assertIn("Customers", page.get_by_test_id("mail-rules").inner_text())
		self.assertIn("send_reply", page.get_by_test_id("mail-call").inner_text())

	def approve_draft(self, page, postman: Postman) -> None:
		page.get_by_test_id("draft-text").fill("Yes, on Friday at nine.")
		self.assertIn("does not go to bob@customer.example", page.get_by_test_id("left-out").inner_text())
		page.get_by_test_id("reply-to-all").click()
		page.get_by_test_id("left-out").wait_for(state="detached")
		page.get_by_test_id("approve").click()
		page.locator("[data-testid=draft][data-status=Sent]").wait_for()
		page.locator("[data-kind=queued]").wait_for()
		tries = TIMEOUT_MS // 100
		while len(postman.mails) < 2 and tries:
			page.wait_for_timeout(100)
			tries -= 1
		self.assertEqual(
			[to for to, _mail in postman.mails], [["anna@customer.example"], ["bob@customer.example"]]
		)
		mail = postman.mails[0][1]
		self.assertEqual(mail.get_content().strip(), "Yes, on Friday at nine.")
		self.assertEqual(mail["In-Reply-To"], "<made@customer.example>")

	def assign_and_run_again(self, page) -> None:
		page.get_by_test_id("assign").click()
		page.get_by_test_id("assign-user").fill("Administrator")
		page.get_by_test_id("link-choice").first.click()
		page.get_by_test_id("assign-save").click()
		page.locator("[data-kind=escalated]").wait_for()
		page.get_by_test_id("turn").click()
		page.locator("[data-kind=given_back]").wait_for()
		page.get_by_test_id("run-again").click()
		page.locator("[data-kind=run_again]").wait_for()

	def check_rule(self, page) -> None:
		page.goto("/huf/mail?view=rules")
		page.get_by_test_id("rule-open").click()
		page.get_by_test_id("test-mail").click()
		page.get_by_test_id("link-choice").first.click()
		page.get_by_test_id("test-rule").click()
		page.locator("[data-testid=tried][data-fits=true]").wait_for()
		page.get_by_test_id("rule-item").get_by_role("button", name="Clear").first.click()
		page.get_by_test_id("tried").wait_for(state="detached")
		page.get_by_test_id("backtest-rule").click()
		self.assertIn("1 of 1", page.get_by_test_id("past").inner_text())
		page.get_by_test_id("field-sender_domain").fill("supplier.example")
		page.get_by_test_id("past").wait_for(state="detached")
		page.get_by_test_id("backtest-rule").click()
		self.assertIn("0 of 1", page.get_by_test_id("past").inner_text())

	def make_agent(self, model: ModelServer) -> None:
		self.make("AI Provider", provide_name="Scripted", api_key="sk-test", api_base=model.base_url)
		self.make("AI Model", model_name="scripted", provider="Scripted")
		self.make(
			"Agent",
			agent_name="Reader",
			model="scripted",
			instructions="Read.",
			agent_tool=[{"tool": "send_reply"}],
		)
