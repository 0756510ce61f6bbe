"""Contents of old mails leave the knowledge index, too."""

import frappe

from huf.ai.knowledge.indexing import index_source
from huf.ai.mail.retention import blank_mails
from huf.ai.mail.store import MAIL
from huf.tests.factories import make, unique
from huf.tests.mail import MailTestCase


class TestIndexedMails(MailTestCase):
	def test_text_of_a_blanked_mail_leaves_the_knowledge_index(self):
		self.agent()
		mail = self.work(self.take())
		fields = {"source_type": "DocType", "reference_doctype": MAIL, "document_fields": "text"}
		source = make("Knowledge Source", source_name=unique("Mails"), **fields).name
		frappe.db.commit()
		index_source(source)
		item = {"source": source, "reference_name": mail.name}
		self.assertTrue(frappe.db.exists("Knowledge Item", item))
		blank_mails([mail.name])
		self.assertFalse(frappe.db.exists("Knowledge Item", item))
