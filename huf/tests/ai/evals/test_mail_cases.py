"""Eval cases with a mail: the agent drafts a reply, and nothing is left behind."""

import frappe

from huf.ai.mail.store import insert_mail
from huf.tests.ai.evals.test_evaluation import EvalTestCase
from huf.tests.factories import unique
from huf.tests.mail import make_mailbox
from huf.tests.packs.samples import what_there_is


class TestMails(EvalTestCase):
	def test_a_case_with_a_mail_drafts_a_reply_and_leaves_nothing_behind(self):
		agent = frappe.get_doc("Agent", self.agent)
		agent.append("agent_tool", {"tool": "create_draft"})
		agent.save()
		draft = {"to": "anna@customer.example", "subject": "Question", "body": "Yes."}
		self.case(
			{
				"record": "Agent Mail",
				"where": {"direction": "Outgoing", "recipients": "anna@customer.example"},
				"values": {"status": "Draft", "text": "Yes."},
				"count": 1,
			},
			prompt="",
			mail="From: Anna <anna@customer.example>\nTo: office@example.com\nSubject: Question\n\nDo you?",
			answers=[{"call": "create_draft", "with": draft}, {"say": "Drafted."}],
		)
		self.insert_draft_in_another_thread()
		before = what_there_is()
		self.assertEqual(self.faults(), [])
		self.assertEqual(what_there_is(), before)

	def insert_draft_in_another_thread(self):
		name, address = make_mailbox("Administrator")
		row = {
			"mailbox": name,
			"direction": "Outgoing",
			"status": "Draft",
			"thread": "another",
			"sender": address,
		}
		row |= {"recipients": "anna@customer.example", "text": "No.", "message_id": unique("id")}
		insert_mail(frappe.generate_hash(length=10), row, "Administrator")
		frappe.db.commit()
