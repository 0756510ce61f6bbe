"""Runs that write to the site's own mailboxes, whose mail starts runs, end at the maximum chain depth."""

import frappe

from huf.ai.core.mail_types import MailJob
from huf.ai.mail.actions import queue_again
from huf.ai.mail.intake import ingest_raw
from huf.ai.mail.outbox import send_approved_mail
from huf.tests.base import enter
from huf.tests.factories import make_tool
from huf.tests.mail import MAIL, MailTestCase, make_mail, make_mailbox, queued, row
from huf.tests.model_server import ModelServer, text, tool_call


class TestMailChains(MailTestCase):
	"""Two mailboxes, each with an agent that writes to the other one."""

	def setUp(self):
		super().setUp()
		self.server = enter(self, ModelServer())
		self.send_mail = make_tool("Send Mail")
		self.other, self.other_address = make_mailbox(self.user)
		frappe.db.commit()
		self.mailboxes = {self.address: self.mailbox, self.other_address: self.other}
		for own in self.mailboxes:
			rule = {"header_match": f'{{"To": "{own}"}}'}
			self.agent(self.server, rule, tools=(self.send_mail,), caution="Off")

	def answer(self, raw: bytes, to: str, **values):
		"""Ingest a mail to one address, whose agent writes to the other one: (its row, that mail's name)."""
		other = next(each for each in self.mailboxes if each != to)
		arguments = {"to": other, "subject": frappe.generate_hash(), "body": "Please answer."}
		self.server.script(tool_call(self.send_mail, arguments), text("I have written."))
		name, _is_new = ingest_raw(self.mailboxes[to], raw)
		frappe.db.commit()
		received = self.work(name)
		sent = frappe.db.get_value(MAIL, {"run": received.run, "direction": "Outgoing"})
		if values:
			frappe.db.set_value(MAIL, sent, values)
		self.assertTrue(send_approved_mail(sent))
		return received, sent

	def follow_chain(self, length: int, **values) -> tuple[list, bytes, str]:
		"""(the received mails, the bytes of the last mail sent, its address)"""
		raw, to, received = make_mail(to=self.address), self.address, []
		for _ in range(length):
			mail, sent = self.answer(raw, to, **values)
			received.append(mail)
			raw, to = queued(sent)[0].as_bytes(), row(sent).recipients
		return received, raw, to

	def test_mail_between_own_mailboxes_starts_no_more_runs_than_the_depth_allows(self):
		received, raw, to = self.follow_chain(4)
		runs = [frappe.get_doc("Agent Run", mail.run) for mail in received]
		self.assertEqual([run.depth for run in runs], [0, 1, 2, 3])
		self.assertEqual([run.caused_by for run in runs[1:]], [run.name for run in runs[:-1]])
		name, _is_new = ingest_raw(self.mailboxes[to], raw)
		frappe.db.commit()
		last = self.work(name)
		self.assertEqual((last.status, last.run), ("Failed", None))
		self.assertIn("At most 3 runs may start one another", last.reason)
		self.server.script(text("That is enough."))
		queue_again(frappe.get_doc(MAIL, name), MailJob.AGENT_PROCESS)
		frappe.db.commit()
		self.assertEqual(self.work(name).status, "Done", "a person decides to go on")

	def test_a_mail_that_a_person_approved_begins_a_new_chain(self):
		received, _raw, _to = self.follow_chain(6, approved_by=self.user)
		depths = [frappe.db.get_value("Agent Run", mail.run, "depth") for mail in received]
		self.assertEqual(depths, [0] * 6)

	def test_a_message_id_that_the_site_has_not_sent_begins_a_new_chain(self):
		received, raw, _to = self.follow_chain(2)
		other = next(each for each in self.mailboxes if each != self.address)
		parsed = make_mail(to=other, message_id=received[0].message_id.partition("@")[0])
		mail, _sent = self.answer(parsed, other)
		self.assertEqual(frappe.db.get_value("Agent Run", mail.run, "depth"), 0)
