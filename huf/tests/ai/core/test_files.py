"""Stored files are read as the bytes that were uploaded."""

from unittest.mock import patch

import frappe

from huf.ai.core.files import read_file_content
from huf.tests.base import SiteTestCase
from huf.tests.factories import make, unique


class TestStoredBytes(SiteTestCase):
	def test_text_files_are_read_byte_for_byte(self):
		for content in ("año".encode("latin-1"), b"\xef\xbb\xbfa;b", "año".encode(), b"\x89PNG\xff"):
			file = make("File", file_name=f"{unique('bytes')}.txt", content=content, is_private=1)
			with self.subTest(content):
				stored = frappe.get_doc("File", file.name)
				self.assertEqual(read_file_content(stored), content)
				# Frappe 16 guesses the encoding of what is not UTF-8.
				with patch.object(type(stored), "get_content", lambda file: "a\u0144o"):
					self.assertEqual(read_file_content(stored), content)
