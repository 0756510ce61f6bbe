"""Mail between real servers: the pharmacy pack answers an inquiry; import, export and the outgoing queue."""

import email
from collections.abc import Callable
from email.policy import default
from pathlib import Path
from unittest.mock import patch

import frappe
from aiosmtpd.controller import Controller
from aiosmtpd.smtp import AuthResult
from click.testing import CliRunner
from frappe.core.doctype.activity_log.activity_log import clear_old_logs
from frappe.email.queue import claim, flush
from frappe.utils.background_jobs import TIMEOUTS

import huf.packs.pharmacy as pack
from huf.ai.mail.intake import read_mailbox_once
from huf.ai.mail.jobs import process_mail
from huf.ai.mail.outbox import send_approved_mail
from huf.ai.mail.review import check_servers, describe_mail
from huf.embedded.cli import cli
from huf.embedded.tests.browser import open_page
from huf.embedded.tests.server_test import Server
from huf.embedded.tests.sites import PASSWORD, SiteTestCase, isolated
from huf.tests.factories import make, make_model, make_user
from huf.tests.imap_server import ImapServer, needs_dovecot
from huf.tests.mail_samples.made import FOLDER
from huf.tests.model_server import ModelServer, text, tool_call
from huf.tests.ports import find_free_port

PACK = Path(pack.__file__).parent / "pharmacy.yaml"


class Postman:
	"""An SMTP server that stores received mails and refuses the first `refused` ones.

	With `is_valid`, it requires XOAUTH2 with an access token for which that returns True.
	"""

	def __init__(self, refused: int = 0, is_valid: Callable[[str], bool] | None = None):
		self.mails: list = []
		self.refused, self.is_valid = refused, is_valid
		options = {"auth_required": True, "auth_require_tls": False} if is_valid else {}
		self.controller = Controller(self, hostname="127.0.0.1", port=find_free_port(), **options)
		self.port = self.controller.port

	async def auth_XOAUTH2(self, server, arguments):
		answer = await server.challenge_auth("")
		user, _between, token = answer.decode().strip("\1").partition("\1auth=Bearer ")
		return AuthResult(success=user.startswith("user=") and self.is_valid(token))

	async def handle_DATA(self, server, session, envelope):
		if self.refused:
			self.refused -= 1
			return "451 Try again later"
		self.mails.append((envelope.rcpt_tos, email.message_from_bytes(envelope.content, policy=default)))
		return "250 OK"

	def __enter__(self) -> "Postman":
		self.controller.start()
		return self

	def __exit__(self, *_):
		self.controller.stop()

	@property
	def settings(self) -> dict:
		return {"smtp_host": "127.0.0.1", "smtp_port": self.port, "smtp_security": "None"}


@needs_dovecot
class TestPharmacy(SiteTestCase):
	def test_imported_pharmacy_pack_answers_a_mail_by_smtp(self):
		result = isolated(CliRunner().invoke, cli, ["--home", str(self.home), "import", "pharmacy"])
		self.assertEqual(result.exit_code, 0, result.output)
		self.assertIn("New: Agent Route Rule pharmacy_support", result.output)
		frappe.db.rollback()
		user = make_user("Huf User")
		with ImapServer() as inbox, Postman() as postman, ModelServer() as server:
			frappe.db.set_value("Agent", "pharmacy", {"model": make_model(server), "may_send_mail": 1})
			values = {
				"email": "office@office.example",
				"run_as": user,
				"take": "All of the inbox",
				"sender_name": "Lékárna",
			}
			make("Agent Mailbox", mailbox_name="Office", **values, **inbox.settings, **postman.settings)
			frappe.db.commit()
			self.assertEqual(
				[each["error"] for each in check_servers(frappe.get_doc("Agent Mailbox", "Office"))],
				[None, None],
			)
			inbox.deliver((FOLDER / "crisp_cs.eml").read_bytes())
			(name,) = read_mailbox_once("Office")
			patient = "jana.novakova@zakaznik.example"
			reply = {
				"to": patient,
				"subject": "Ibuprofen",
				"body": "Ibuprofen 400 je pro Vás odložen v Brně.",
			}
			server.script(
				tool_call("search_drugs", {"query": "ibuprofen"}),
				tool_call(
					"manage_reservation",
					{"action": "create", "drug_name": "Ibuprofen 400", "pharmacy_id": "Brno"},
				),
				tool_call("send_reply", reply),
				text("Odpovězeno."),
			)
			process_mail(name)
			details = describe_mail(frappe.get_doc("Agent Mail", name))
			self.assertEqual(
				(details["mail"]["status"], details["mail"]["rule"]), ("Done", "pharmacy_support")
			)
			self.assertEqual(
				[each["name"] for each in details["drafts"] if send_approved_mail(each["name"])],
				[details["drafts"][0]["name"]],
			)
			flush()
			((to, mail),) = postman.mails
		self.assertEqual(
			(to, mail["To"], mail["From"]), ([patient], patient, "Lékárna <office@office.example>")
		)
		self.assertEqual(
			(mail["In-Reply-To"], mail["Auto-Submitted"]), ("<crisp-cs@crisp.chat>", "auto-replied")
		)
		self.assertEqual(mail.get_content().strip(), reply["body"])
		prompt = server.requests[0]["messages"][-1]["content"]
		self.assertTrue(
			prompt.startswith(f"New support inquiry from Jana Nováková ({patient}):\nSubject: Nová zpráva")
		)
		log = [(each["tool"], each["iteration"]) for each in details["run"]["tool_calls_log"]]
		self.assertEqual(log, [("search_drugs", 1), ("manage_reservation", 2), ("send_reply", 3)])
		reservations = frappe.get_all(
			"Pharmacy Reservation", fields=["drug", "branch", "patient_email"], order_by="name asc"
		)
		self.assertEqual([tuple(row.values()) for row in reservations], [("Ibuprofen 400", "Brno", patient)])
		self.check_run_page(details["run"]["name"], "search_drugs", "manage_reservation", "send_reply")

	def check_run_page(self, run: str, *tools: str):
		"""The run's page shows the answer, each tool call and a result."""
		frappe.db.commit()
		server = Server(self.home, find_free_port())
		self.addCleanup(server.stop)
		with open_page(server.url) as page:
			name, value = server.login(PASSWORD).split("=")
			page.context.add_cookies([{"name": name, "value": value, "url": server.url}])
			page.goto(f"/huf/runs/{run}")
			page.get_by_test_id("run-answer").get_by_text("Odpovězeno.").wait_for()
			calls = page.get_by_test_id("tool-call")
			self.assertEqual(calls.count(), len(tools))
			for call, tool in zip(calls.all(), tools, strict=True):
				self.assertIn(tool, call.inner_text())
			calls.nth(1).click()
			page.get_by_test_id("tool-result").get_by_text("Ibuprofen 400").first.wait_for()


class TestMailFiles(SiteTestCase):
	def test_exported_config_keeps_its_prompt_and_can_be_imported_again(self):
		isolated(CliRunner().invoke, cli, ["--home", str(self.home), "import", "pharmacy"])
		target = self.home / "out" / "config.yaml"
		target.parent.mkdir(exist_ok=True)
		result = isolated(CliRunner().invoke, cli, ["--home", str(self.home), "export", str(target)])
		self.assertEqual(result.exit_code, 0, result.output)
		prompt = PACK.parent / "config/prompts/pharmacy.txt"
		self.assertEqual((target.parent / "config/prompts/pharmacy.txt").read_text(), prompt.read_text())
		again = isolated(CliRunner().invoke, cli, ["--home", str(self.home), "import", str(target)])
		self.assertEqual(again.exit_code, 0, again.output)

	def test_mail_command_imports_files_folders_and_mbox_without_duplicates(self):
		make("Agent Mailbox", mailbox_name="Manual", email="manual@office.example", run_as="Administrator")
		frappe.db.commit()
		box = self.home / "box.mbox"
		raw = [(FOLDER / f"{name}.eml").read_bytes() for name in ("crisp_en", "bounce")]
		box.write_bytes(b"".join(b"From x@y Thu Nov 19 09:12:44 2026\n" + each + b"\n" for each in raw))
		for path, expected in ((box, "2 new"), (FOLDER, "10 new"), (FOLDER / "bounce.eml", "0 new")):
			result = isolated(
				CliRunner().invoke, cli, ["--home", str(self.home), "mail", str(path), "--mailbox", "Manual"]
			)
			self.assertIn(expected, result.output)

	def test_invalid_config_file_is_refused_with_its_line_number(self):
		bad = self.home / "bad.yaml"
		bad.write_text("routing:\n  rules:\n    - name: never\n      match: {alll: true}\n")
		result = isolated(CliRunner().invoke, cli, ["--home", str(self.home), "import", str(bad)])
		self.assertIn("Line 4", result.output)
		self.assertFalse(frappe.db.exists("Agent Route Rule", "never"))


class TestQueue(SiteTestCase):
	def test_sendmail_retries_a_refused_mail_later_and_sends_it_once(self):
		with Postman(refused=1) as postman:
			account = {
				"email_id": "site@office.example",
				"smtp_server": "127.0.0.1",
				"smtp_port": str(postman.port),
			}
			make(
				"Email Account",
				email_account_name="Site",
				enable_outgoing=1,
				default_outgoing=1,
				no_smtp_authentication=1,
				**account,
			)
			frappe.sendmail(recipients=["a@x.example"], subject="Hi", message="<p>Hello</p>")
			frappe.db.commit()
			self.assertEqual(flush(), 0)
			self.assertEqual(flush(), 0, "it is not retried at once")
			later = frappe.utils.add_to_date(frappe.utils.now_datetime(), minutes=2, as_datetime=True)
			self.assertEqual([flush(later), flush(later)], [1, 0])
		((to, mail),) = postman.mails
		self.assertEqual((to, mail["Subject"], mail["From"]), (["a@x.example"], "Hi", "site@office.example"))

	def test_sending_to_unresponsive_smtp_servers_ends_before_the_job_timeout(self):
		account = {"email_account_name": "Silent", "enable_outgoing": 1, "default_outgoing": 1}
		make("Email Account", email_id="silent@office.example", smtp_server="127.0.0.1", **account)
		clock = [0.0]

		def connect(account):
			clock[0] += 30
			raise TimeoutError("timed out")

		for number in range(12):
			frappe.sendmail(recipients=[f"{number}@x.example"], sender="silent@office.example")
		with patch("frappe.email.queue.connect", connect), patch("time.monotonic", lambda: clock[0]):
			frappe.db.commit()
			flush()
		self.assertLess(clock[0], TIMEOUTS["short"] - 60)
		left = frappe.get_all("Email Queue", {"sender": "silent@office.example"}, pluck="retry")
		self.assertEqual((len(left), set(left)), (12, {0, 1}))

	def test_sendmail_refuses_options_that_would_change_the_mail(self):
		for option, value in {
			"template": "welcome",
			"attachments": [{"fname": "a.txt"}],
			"bcc": ["b@x.example"],
		}.items():
			with self.subTest(option), self.assertRaisesRegex(NotImplementedError, option):
				frappe.sendmail(recipients=["a@x.example"], subject="Hi", message="Hello", **{option: value})

	def test_mail_that_was_sent_is_deleted_after_90_days(self):
		for status in ("Sent", "Error", "Not Sent"):
			mail = frappe.sendmail(recipients=[f"{status}@old.example"], sender="old@office.example")
			old = {"status": status, "modified": "2020-01-01"}
			frappe.db.set_value("Email Queue", mail.name, old, update_modified=False)
		clear_old_logs()
		left = frappe.get_all("Email Queue", {"sender": "old@office.example"}, ["name", "status"])
		self.assertEqual({row.status for row in left}, {"Error", "Not Sent"})
		recipients = frappe.get_all(
			"Email Queue Recipient", {"recipient": ["like", "%@old.example"]}, ["parent"]
		)
		self.assertEqual({row.parent for row in recipients}, {row.name for row in left})

	def test_mail_claimed_by_a_dead_worker_becomes_an_error(self):
		frappe.sendmail(recipients=["a@x.example"], subject="Hi", message="Hello")
		(name,) = frappe.get_all(
			"Email Queue", {"status": "Not Sent"}, pluck="name", order_by="creation desc", limit=1
		)
		self.assertTrue(claim(name))
		later = frappe.utils.add_to_date(frappe.utils.now_datetime(), minutes=20, as_datetime=True)
		flush(later)
		self.assertEqual(frappe.db.get_value("Email Queue", name, "status"), "Error")
