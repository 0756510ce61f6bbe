"""Stored files are read as the bytes that were uploaded."""

from unittest.mock import patch

import frappe

from huf.ai.core.files import get_full_file_name, read_file_content
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

	def test_the_full_name_of_a_file_is_no_path(self):
		for name, url, full in (
			("Prices.csv", "/files/Prices.csv", "Prices.csv"),
			("Prices", "/files/prices.csv", "prices.csv"),
			("Prices", "/private/files/Prices", "Prices"),
			(None, "/private/files/Prices", "Prices"),
		):
			file = frappe._dict(file_name=name, file_url=url)
			with self.subTest(name, url=url):
				self.assertEqual(get_full_file_name(file), full)
