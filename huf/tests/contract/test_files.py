"""Where the content of a File is stored, and what deleting it removes."""

from unittest.mock import patch

import frappe
from frappe.core.doctype.file.file import File

from huf.tests.base import SiteTestCase
from huf.tests.factories import make, unique


class TestFiles(SiteTestCase):
	def test_content_with_a_private_address_is_private(self):
		name = f"{frappe.generate_hash(length=10)}.txt"
		values = {"file_url": f"/private/files/{name}", "content": name, "is_private": 0}
		file = frappe.get_doc({"doctype": "File", "file_name": name, **values}).insert()
		self.assertEqual((file.is_private, file.file_url), (1, f"/private/files/{name}"))

	def test_deleting_a_file_calls_delete_file_data_content(self):
		file = make("File", file_name=f"{unique('a')}.txt", content=unique("text"), is_private=1)
		with patch.object(File, "delete_file_data_content") as deleted:
			frappe.delete_doc("File", file.name)
		deleted.assert_called_once()
		frappe.db.rollback()
