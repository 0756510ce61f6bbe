"""Shared by tests of mail: a mailbox, raw mails, routing rules and an outgoing account."""

import email
from email.message import EmailMessage
from email.policy import default

import frappe

from huf.ai.mail.intake import ingest_raw
from huf.ai.mail.jobs import process_mail
from huf.ai.mail.outbox import send_approved_mail
from huf.tests.base import SiteTestCase, allow_many_users
from huf.tests.factories import make, make_agent, make_model, make_user, unique
from huf.tests.model_server import ModelServer

MAIL, EVENT = "Agent Mail", "Agent Mail Event"
TOOLS = ("send_reply", "create_draft", "escalate")


def end_open_mails():
	"""End mails that other tests left open on a bench's site: recovery reads only 500 at a time."""
	is_open = {"status": ["in", ["Queued", "Approved", "Started"]]}
	frappe.db.set_value("Agent Mail", is_open, "status", "Done", update_modified=False)
	frappe.db.commit()


class MailTestCase(SiteTestCase):
	"""Has a `user`, and a `mailbox` (its name) at `address` that fetches no mail.

	Rules are deleted after each test.
	"""

	@classmethod
	def setUpClass(cls):
		super().setUpClass()
		allow_many_users()
		cls.user = make_user("Huf User")
		make_tools()
		make_outgoing_account()
		end_open_mails()

	def setUp(self):
		super().setUp()
		self.mailbox, self.address = make_mailbox(self.user)
		frappe.db.commit()

	def rule(self, **values) -> str:
		values.setdefault("rule_name", unique("Rule"))
		rule = make("Agent Route Rule", **values).name
		frappe.db.commit()
		self.addCleanup(self.delete_rule, rule)
		return rule

	def delete_rule(self, name: str):
		frappe.db.rollback()
		frappe.set_user("Administrator")
		frappe.delete_doc("Agent Route Rule", name, ignore_missing=True)
		frappe.db.commit()

	def take(self, raw: bytes | None = None, **values) -> str:
		"""Ingest a mail without processing it; returns its name."""
		values.setdefault("to", self.address)
		name, _is_new = ingest_raw(self.mailbox, raw or make_mail(**values))
		frappe.db.commit()
		return name

	def work(self, name: str):
		"""Process a mail as a worker would; returns its row."""
		for _ in range(3):
			process_mail(name)
		frappe.db.rollback()
		return row(name)

	def agent(self, server: ModelServer | None = None, rule: dict | None = None, **values) -> str:
		"""An agent with the mail tools, and a rule that routes all mail of this mailbox to it."""
		values.setdefault("tools", TOOLS)
		agent = make_agent(make_model(server) if server else None, **values)
		self.rule(route="agent", profile=agent, **(rule or {"header_match": f'{{"To": "{self.address}"}}'}))
		return agent

	def kinds(self, mail: str) -> list[str]:
		return [each.kind for each in events(mail)]


def make_tools() -> None:
	for name in TOOLS:
		if not frappe.db.exists("Agent Tool Function", name):
			make(
				"Agent Tool Function",
				tool_name=name,
				types="App Provided",
				provider_app="huf",
				description=name,
			)
	frappe.db.commit()


def make_outgoing_account() -> None:
	"""Create a default outgoing account if there is none; nothing listens at its server."""
	if not frappe.db.exists("Email Account", {"default_outgoing": 1}):
		account = {"email_id": "site@office.example", "smtp_server": "127.0.0.1", "smtp_port": "9"}
		account |= {"enable_outgoing": 1, "default_outgoing": 1, "no_smtp_authentication": 1}
		make("Email Account", email_account_name="Tests", **account)
		frappe.db.commit()


def make_mailbox(user: str, **values) -> tuple[str, str]:
	"""(name, address)"""
	address = f"{frappe.generate_hash(length=10)}@office.example"
	name = make("Agent Mailbox", mailbox_name=unique("Mailbox"), email=address, run_as=user, **values).name
	return name, address


def make_mail(
	to: str = "office@office.example",
	sender: str = "Anna Nowak <anna@customer.example>",
	subject: str = "A question",
	text: str = "Do you have aspirin?",
	message_id: str | None = None,
	**headers: str,
) -> bytes:
	mail = EmailMessage(policy=default)
	mail["From"], mail["To"], mail["Subject"] = sender, to, subject
	mail["Message-ID"] = f"<{message_id or frappe.generate_hash(length=20)}@customer.example>"
	mail["Date"] = "Fri, 20 Nov 2026 10:00:00 +0100"
	for name, value in headers.items():
		mail[name.replace("_", "-")] = value
	mail.set_content(text)
	return mail.as_bytes()


def answer_to(name: str, **values) -> bytes:
	"""A mail in the thread of a stored one, from the same sender."""
	first = row(name)
	values.setdefault("sender", first.sender)
	references = " ".join(
		f"<{each}>" for each in [*(first.message_references or "").split(), first.message_id]
	)
	return make_mail(In_Reply_To=f"<{first.message_id}>", References=references, **values)


def row(name: str):
	return frappe.db.get_value(MAIL, name, "*", as_dict=True)


def outgoing(name: str) -> list:
	"""The replies to a mail, oldest first."""
	return frappe.get_all(MAIL, {"reply_to_mail": name}, ["*"], order_by="creation asc")


def events(mail: str) -> list:
	return frappe.get_all(EVENT, {"mail": mail}, ["*"], order_by="creation asc")


def queued(name: str) -> list:
	"""The messages of a mail in the site's mail queue, parsed."""
	found = frappe.get_all("Email Queue", {"reference_name": name}, pluck="message", order_by="creation asc")
	return [email.message_from_string(each, policy=default) for each in found]


def send_all(name: str) -> list[bool]:
	"""Send the replies to a mail, as a worker would."""
	return [send_approved_mail(each.name) for each in outgoing(name)]
