"""Deleting a File calls the method that removes its bytes from the disk."""

from unittest.mock import patch

import frappe
from frappe.core.doctype.file.file import File

from huf.tests.base import SiteTestCase
from huf.tests.factories import make, unique


class TestFiles(SiteTestCase):
	def test_deleting_a_file_calls_delete_file_data_content(self):
		file = make("File", file_name=f"{unique('a')}.txt", content=unique("text"), is_private=1)
		with patch.object(File, "delete_file_data_content") as deleted:
			frappe.delete_doc("File", file.name)
		deleted.assert_called_once()
		frappe.db.rollback()
