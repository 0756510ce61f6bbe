"""Files that a tool generates: every type, private, owned by the run's user, without live formulas."""

import csv
import io
import unittest
from pathlib import Path

import frappe

from huf.ai.core.errors import ToolError
from huf.ai.core.session import acting_as
from huf.ai.tools import files
from huf.ai.tools.files import generate_file, split_paragraphs
from huf.tests.base import SiteTestCase
from huf.tests.factories import make_user, unique

ROWS = [
	["Název", "Sum"],
	["Žluťoučký kůň", 12.5],
	["=cmd|'/c calc'!A0", -3],
	["+49 30 1", "-5"],
	[None, True],
]
TEXT = "# Report\nAll is well – “really”.\n\nSecond paragraph\x00\uffff costs 5 €."


class TestGenerateFile(SiteTestCase):
	def content(self, ending: str, **values) -> bytes:
		made = generate_file(f"{unique('report')}.{ending}", **values)
		content = frappe.get_doc("File", made["name"]).get_content()
		return content.encode() if isinstance(content, str) else content

	def test_formulas_in_csv_cells_are_escaped(self):
		rows = list(csv.reader(io.StringIO(self.content("csv", rows=ROWS).decode("utf-8-sig"))))
		self.assertEqual(rows[1], ["Žluťoučký kůň", "12.5"])
		self.assertEqual((rows[2], rows[3]), (["'=cmd|'/c calc'!A0", "-3"], ["'+49 30 1", "-5"]))

	def test_an_xlsx_holds_numbers_as_numbers_and_formulas_as_text(self):
		from openpyxl import load_workbook

		sheet = load_workbook(io.BytesIO(self.content("xlsx", rows=ROWS))).active
		self.assertEqual((sheet["A2"].value, sheet["B2"].value), ("Žluťoučký kůň", 12.5))
		self.assertEqual((sheet["A3"].value, sheet["A3"].data_type), ("=cmd|'/c calc'!A0", "s"))

	def test_a_docx_holds_headings_paragraphs_and_a_table(self):
		from docx import Document

		document = Document(io.BytesIO(self.content("docx", text=TEXT, rows=ROWS)))
		styled_texts = [(each.style.name, each.text) for each in document.paragraphs]
		self.assertEqual(styled_texts[0], ("Heading 1", "Report"))
		self.assertEqual(styled_texts[2], ("Normal", "Second paragraph costs 5 €."))
		self.assertEqual(document.tables[0].cell(1, 0).text, "Žluťoučký kůň")

	@unittest.skipUnless(any(Path(font).exists() for font in files.FONTS), "no font with these letters here")
	def test_pdf_supports_czech_letters(self):
		for text in (TEXT, "Příliš žluťoučký kůň"):
			self.assertTrue(self.content("pdf", text=text, rows=ROWS[:1]).startswith(b"%PDF-"))

	def test_pdf_with_letters_missing_from_all_fonts_is_refused(self):
		fonts, files.FONTS = files.FONTS, ()
		self.addCleanup(setattr, files, "FONTS", fonts)
		self.assertTrue(self.content("pdf", text=TEXT).startswith(b"%PDF-"))
		with self.assertRaisesRegex(ToolError, "no font for these letters"):
			self.content("pdf", text="Příliš žluťoučký kůň")

	def test_generated_file_is_private_and_owned_by_the_user(self):
		user, other = make_user("Huf User"), make_user("Huf User")
		with acting_as(user):
			made = generate_file(f"{unique('x')}.csv", rows=[["a"]])
		doc = frappe.get_doc("File", made["name"])
		self.assertEqual((doc.owner, doc.is_private), (user, 1))
		self.assertTrue(doc.has_permission("read", user=user))
		self.assertFalse(doc.has_permission("read", user=other))

	def test_unsupported_file_types_and_contents_are_refused(self):
		for name, values, reason in (
			("a.exe", {"text": "x"}, "must end in one of: .csv"),
			("a.csv", {"text": "x"}, "needs rows"),
			("a.pdf", {"text": " "}, "needs rows or text"),
			("a.xlsx", {"rows": [["x"], ["x" * 40_000]]}, "Row 2: a cell of an .xlsx has at most 32,767"),
		):
			with self.subTest(name), self.assertRaisesRegex(ToolError, reason):
				generate_file(name, **values)

	def test_headings_are_split_from_paragraphs(self):
		self.assertEqual(
			split_paragraphs("Intro\nmore\n## Two\nText\n\n#hash\n\n\n# One"),
			[(0, "Intro\nmore"), (2, "Two"), (0, "Text"), (0, "#hash"), (1, "One")],
		)
