"""Files of every supported type are read as text with positions, and texts are split into chunks."""

import io
import unittest
import zipfile
from datetime import date, datetime
from unittest.mock import patch

from hypothesis import given
from hypothesis import strategies as st

from huf.ai.core.errors import UsageError
from huf.ai.knowledge import reader_process
from huf.ai.knowledge.chunking import MAX_CHUNK_CHARS, Part, split_into_chunks, split_markdown
from huf.ai.knowledge.reader_process import read_file
from huf.ai.knowledge.reading import COMPOUND_FILE, MAX_UNPACKED_BYTES, READERS

MARKDOWN = (
	"# Leave\n\nAsk Ms Müller.\n\n## Terms\n\nTwo weeks.\n\n```\n# no heading\n```\n\n# Pay\n\nMonthly."
)
SLIDE = '<s xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main"><a:p><a:r><a:t>{}</a:t></a:r></a:p></s>'

PLAIN = "txt csv tsv log json xml yaml yml"


class TestFiles(unittest.TestCase):
	def test_markdown_parts_carry_their_heading_path(self):
		self.assertEqual(
			[(part.heading, part.text.strip()[-10:]) for part in read_file("a.md", MARKDOWN.encode())],
			[("Leave", "Ms Müller."), ("Leave › Terms", "eading\n```"), ("Pay", "# Pay\n\nMonthly."[-10:])],
		)

	def test_pages_of_a_pdf_are_numbered(self):
		parts = read_file("a.pdf", make_pdf("The first page", "The second page"))
		self.assertEqual(
			[(part.page, part.text.strip()) for part in parts],
			[(1, "The first page"), (2, "The second page")],
		)

	def test_values_of_a_pdf_form_are_read(self):
		(page, form) = read_file(
			"a.pdf", make_pdf_form(Name="Anna Müller", Remarks="", Paid="/Yes", Left="/Off")
		)
		self.assertEqual((page.page, page.text.strip()), (1, "Application"))
		self.assertEqual(form.text, "Name: Anna Müller\nPaid: Yes")

	def test_a_signature_is_left_out_of_a_pdf_form_and_choices_are_read(self):
		signature = {"/Type": "/Sig", "/Contents": "0" * 5_000}
		(_, form) = read_file("a.pdf", make_pdf_form(Signed=signature, Colours=["red", "blue"]))
		self.assertEqual(form.text, "Colours: red, blue")

	def test_docx_headings_and_tables_are_read(self):
		(first, second) = read_file("a.docx", make_docx())
		self.assertEqual((first.heading, second.heading), ("Lease", "Lease › Rent"))
		self.assertIn("cold | 900", second.text)

	def test_text_in_content_controls_insertions_text_boxes_headers_and_notes_of_a_docx_is_read(self):
		text = "\n".join(part.text for part in read_file("a.docx", make_form()))
		boxes = ("in a box", "box of a box", "box of a cell")
		for said in ("Tenant: Huber", "Landlord", "deposit 3000", *boxes, "File 12/25", "see § 551"):
			with self.subTest(said):
				self.assertEqual(text.count(said), 1, text)
		self.assertNotIn("struck out", text)
		self.assertIn("a | inner | b", text)

	def test_a_docx_with_a_damaged_header_is_read_without_it(self):
		from docx import Document

		document, out = Document(), io.BytesIO()
		document.add_paragraph("The rent is 900.")
		header = document.sections[0].header
		header.paragraphs[0].text = "File 12/25"
		document.part.rels.pop(header._sectPr.get_headerReference(header._hdrftr_index).rId)
		document.save(out)
		self.assertEqual([part.text for part in read_file("a.docx", out.getvalue())], ["The rent is 900."])

	def test_xlsx_rows_are_read_under_the_sheet_name(self):
		parts = read_file("a.xlsx", make_xlsx())
		self.assertEqual(
			[(part.heading, part.text) for part in parts], [("Fees", "hearing | 120\nletter | 40")]
		)

	def test_cells_of_an_xlsx_stay_in_their_columns(self):
		rows = (("name", "January", "February", None), ("Anna", None, 5, None), (None, None, 7, None))
		self.assertEqual(
			read_file("a.xlsx", make_xlsx(rows))[0].text, "name | January | February\nAnna |  | 5\n |  | 7"
		)
		far = ((None, "name", *[None] * 500, "end"), (None, "Anna"))
		self.assertEqual(read_file("a.xlsx", make_xlsx(far))[0].text, "name | end\nAnna")

	def test_dates_of_an_xlsx_are_read_without_a_time(self):
		rows = [(date(2026, 11, 28), datetime(2026, 11, 28, 9, 30))]
		self.assertEqual(read_file("a.xlsx", make_xlsx(rows))[0].text, "2026-11-28 | 2026-11-28 09:30:00")

	def test_an_xlsx_is_read_to_its_last_row(self):
		rows = [("first",), *[()] * 60_000, ("last",)]
		self.assertEqual(read_file("a.xlsx", make_xlsx(rows))[0].text, "first\nlast")

	def test_entities_of_an_xlsx_are_read_by_the_parser_in_c_and_do_not_fill_the_memory(self):
		self.assertEqual(read_file("a.xlsx", make_xlsx_with_entities("ten"))[0].text, "ten")
		content = make_xlsx_with_entities(*(f"&e{level};" * 100 for level in range(1, 9)), "much")
		with self.assertRaisesRegex(UsageError, "a.xlsx"):
			read_file("a.xlsx", content)

	def test_pptx_slides_are_read_in_numeric_order(self):
		parts = read_file("a.pptx", make_pptx(*map(str, range(1, 12))))
		self.assertEqual([part.text for part in parts], list(map(str, range(1, 12))))
		self.assertEqual(parts[-1].page, 11)

	def test_a_page_is_read_without_its_scripts(self):
		(part,) = read_file("a.html", b"<html><script>evil()</script><h1>Roof</h1><p>It leaks.</p></html>")
		self.assertEqual(part.heading, "Roof")
		self.assertNotIn("evil", part.text)

	def test_a_picture_inside_a_page_is_read_as_its_description(self):
		page = (
			f'<p>See <img alt="our roof" src="data:image/png;base64,{"A" * 5_000}"> and <img src="a.png"></p>'
		)
		(part,) = read_file("a.html", page.encode())
		self.assertEqual(part.text.strip(), "See our roof and ![](a.png)")

	def test_title_is_the_heading_of_a_page_without_headings(self):
		head = b'<meta name="viewport" content="width"><title>Roofs &amp; gutters</title>'
		(part,) = read_file("a.html", b"<html><head>" + head + b"</head><p>They leak.</p></html>")
		self.assertEqual((part.heading, part.text.strip()), ("Roofs & gutters", "They leak."))

	def test_text_of_an_old_encoding_is_read(self):
		self.assertEqual(read_file("a.txt", "Müller".encode("cp1252"))[0].text, "Müller")
		for said, codec in (
			("Příliš žluťoučký kůň úpěl", "cp1250"),
			("È già lì, più giù: perché però così", "cp1252"),
			("Où êtes-vous, très chère? À bientôt, ça va", "cp1252"),
			("På søndag får vi også æg og øl", "cp1252"),
			(
				"Müller, Genève, Grünwald, Zürich, Köln, Orléans, Ærø, Forlì, Cantù, Málaga, São Paulo, Ñuñoa",
				"cp1252",
			),
			("ÄÖÜ, äöü, ß: 23 °C ±5 µm, «10 €» ½ ÅÄÖ", "cp1252"),
			("Добрый день, пришлите счёт за октябрь", "cp1251"),
			("Καλημέρα, στείλτε το τιμολόγιο", "cp1253"),
			("十月の請求書を送ってください", "shift_jis"),
			("请发送十月份的发票，我们还没有收到", "gb18030"),
			("주문을 아직 받지 못했습니다", "euc_kr"),
		):
			with self.subTest(said):
				self.assertEqual(read_file("a.csv", said.encode(codec))[0].text, said)

	def test_a_byte_order_mark_or_a_declared_charset_is_followed(self):
		said = "Příliš žluťoučký kůň"
		for name, content in {
			"a.txt": said.encode("utf-16"),
			"a.csv": "\ufeff".encode("utf-16-be") + said.encode("utf-16-be"),
			"a.md": said.encode("utf-32"),
			"a.html": f"<meta charset='windows-1250'><p>{said}</p>".encode("cp1250"),
			"a.htm": f'<meta content="text/html; charset=ISO-8859-2"><p>{said}</p>'.encode("iso-8859-2"),
			"a.xml": f'<?xml version="1.0" encoding="windows-1250"?>{said}'.encode("cp1250"),
			"b.html": f"<meta charset='windows-1250'><p>{said}</p>".encode(),
			"c.html": f"<meta charset='utf-16'><p>{said}</p>".encode(),
		}.items():
			with self.subTest(name):
				self.assertIn(said, read_file(name, content)[0].text)
				self.assertNotIn("\ufeff", read_file(name, content)[0].text)

	def test_characters_of_windows_are_read_in_pages_that_declare_a_smaller_charset(self):
		for declared, codec in (("iso-8859-1", "cp1252"), ("ascii", "cp1252"), ("iso-8859-9", "cp1254")):
			content = f"<meta charset={declared}><p>“Müller” – 5 €</p>".encode(codec)
			with self.subTest(declared):
				self.assertIn("“Müller” – 5 €", read_file("a.html", content)[0].text)

	def test_broken_files_and_unknown_types_are_refused(self):
		for name in ("a.pdf", "a.docx", "a.xlsx", "a.pptx"):
			with self.subTest(name), self.assertRaisesRegex(UsageError, name):
				read_file(name, b"not what it says")
		with self.assertRaisesRegex(UsageError, "a.docx is locked with a password"):
			read_file("a.docx", COMPOUND_FILE + b"EncryptedPackage")
		with self.assertRaisesRegex(UsageError, "only csv, docx"):
			read_file("a.exe", b"")
		self.assertEqual(read_file("empty.txt", b" \n"), [])

	def test_a_file_that_would_fill_the_memory_is_refused(self):
		archive = io.BytesIO()
		with (
			zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as zip_file,
			zip_file.open("word/document.xml", "w", force_zip64=True) as entry,
		):
			for _ in range(MAX_UNPACKED_BYTES // 10_000_000 + 1):
				entry.write(bytes(10_000_000))
		for extension in ("docx", "xlsx", "pptx"):
			with self.assertRaisesRegex(UsageError, "too large"):
				read_file(f"a.{extension}", archive.getvalue())

	def test_nested_quotes_do_not_multiply_the_text(self):
		for tag in ("blockquote", "PRE"):
			html = f"<{tag}>Hello</{tag}>" + f"<{tag}>word " * 1_000
			with self.subTest(tag):
				text = "".join(part.text for part in read_file("a.html", html.encode()))
				self.assertEqual(text.count("word"), 1_000)
				self.assertLess(len(text), 20_000)
		(part,) = read_file("a.html", b"<p>He says:</p><blockquote>Yes</blockquote><pre>a  b</pre>" * 100)
		self.assertIn("> Yes", part.text)
		self.assertIn("a  b", part.text)

	def test_code_keeps_its_lines_beside_many_quotes(self):
		html = "<pre>a\n  b</pre>" + "<blockquote>Yes</blockquote>" * 300
		self.assertIn("a\n  b", read_file("a.html", html.encode())[0].text)

	def test_html_whose_quotes_could_multiply_its_text_is_read_in_a_child(self):
		for html, is_apart in (
			("<blockquote>" * 200 + "a<br>" * 9_000, True),
			("<PRE><!--</PRE>-->word " * 1_000, True),
			("<blockquote>Yes</blockquote>" * 20 + "a<br>" * 9_000, False),
		):
			for content in (html.encode(), html[:24_000].encode("utf-16")):
				with self.subTest(html[:12]), patch.object(reader_process, "read_in_child") as read:
					read_file("a.html", content)
					reader_process.convert_html(html)
					self.assertEqual(read.call_count, 2 if is_apart else 0)

	def test_plain_text_formats_are_read_unchanged(self):
		for extension in PLAIN.split():
			self.assertEqual(read_file(f"a.{extension}", b'{\n\t"a": "\xc3\xa4"}')[0].text, '{\n\t"a": "ä"}')

	def test_every_supported_file_type_is_tested_here(self):
		self.assertEqual(set(READERS), set(f"docx htm html markdown md pdf pptx xlsx {PLAIN}".split()))


class TestChunks(unittest.TestCase):
	@given(st.text(alphabet="ab .\n#ü", max_size=6 * MAX_CHUNK_CHARS))
	def test_chunks_keep_every_word_and_have_correct_positions(self, text):
		chunks = list(split_into_chunks(split_markdown(text)))
		for chunk in chunks:
			self.assertEqual(text[chunk.start : chunk.start + len(chunk.text)], chunk.text)
			self.assertLessEqual(len(chunk.text), MAX_CHUNK_CHARS)
		self.assertEqual("".join("".join(chunk.text.split()) for chunk in chunks), "".join(text.split()))

	def test_a_text_is_cut_between_its_paragraphs(self):
		text = "\n\n".join(["word " * 100] * 6)
		for chunk in split_into_chunks([Part(text)]):
			self.assertTrue(text[chunk.start :].startswith("word") and chunk.text.endswith("word"))
			self.assertEqual(chunk.text.count("word") % 100, 0)


def make_pdf(*pages: str) -> bytes:
	from fpdf import FPDF

	pdf = FPDF()
	pdf.set_font("helvetica", size=12)
	for page in pages:
		pdf.add_page()
		pdf.cell(text=page)
	return bytes(pdf.output())


def make_pdf_form(**values: str | list | dict) -> bytes:
	from pypdf import PdfReader, PdfWriter
	from pypdf.generic import ArrayObject, DictionaryObject, NameObject, TextStringObject

	def to_pdf(value):
		if isinstance(value, dict):
			return DictionaryObject({NameObject(key): to_pdf(each) for key, each in value.items()})
		if isinstance(value, list):
			return ArrayObject(map(to_pdf, value))
		return NameObject(value) if value.startswith("/") else TextStringObject(value)

	writer, out = PdfWriter(), io.BytesIO()
	writer.append(PdfReader(io.BytesIO(make_pdf("Application"))))
	fields = [{"/T": name, "/V": value} for name, value in values.items()]
	refs = ArrayObject(writer._add_object(to_pdf(field)) for field in fields)
	writer._root_object[NameObject("/AcroForm")] = DictionaryObject({NameObject("/Fields"): refs})
	writer.write(out)
	return out.getvalue()


def make_docx() -> bytes:
	from docx import Document

	document, out = Document(), io.BytesIO()
	document.add_heading("Lease", 1)
	document.add_paragraph("Of a flat.")
	document.add_heading("Rent", 2)
	table = document.add_table(1, 2)
	table.rows[0].cells[0].text, table.rows[0].cells[1].text = "cold", "900"
	document.save(out)
	return out.getvalue()


def make_form() -> bytes:
	"""A Word file with text in places other than plain paragraphs."""
	from docx import Document
	from docx.opc.constants import RELATIONSHIP_TYPE
	from docx.opc.packuri import PackURI
	from docx.opc.part import Part as PackagePart
	from docx.oxml import parse_xml
	from docx.oxml.ns import nsdecls

	def add(target, xml: str) -> None:
		target.append(parse_xml(xml.replace(">", f" {nsdecls('w')}>", 1)))

	document, out = Document(), io.BytesIO()
	paragraph = document.add_paragraph()._p
	add(paragraph, "<w:sdt><w:sdtContent><w:r><w:t>Tenant: Huber, </w:t></w:r></w:sdtContent></w:sdt>")
	add(paragraph, '<w:ins w:id="1"><w:r><w:t>deposit 3000</w:t></w:r></w:ins>')
	add(paragraph, '<w:moveFrom w:id="2"><w:r><w:t>struck out</w:t></w:r></w:moveFrom>')
	box = "<w:pict><w:txbxContent><w:p><w:r><w:t>in a box</w:t></w:r></w:p></w:txbxContent></w:pict>"
	within = box.replace("in a box", "box of a box")
	add(paragraph, f"<w:r>{box.replace('</w:p>', f'<w:r>{within}</w:r></w:p>')}</w:r>")
	document.add_paragraph()
	add(
		document.element.body,
		"<w:sdt><w:sdtContent><w:p><w:r><w:t>Landlord</w:t></w:r></w:p></w:sdtContent></w:sdt>",
	)
	cells = document.add_table(1, 3).rows[0].cells
	cells[0].text, cells[2].text = "a", "b"
	cells[1].add_table(1, 1).cell(0, 0).text = "inner"
	add(cells[2].paragraphs[0]._p, f"<w:r>{box.replace('in a box', 'box of a cell')}</w:r>")
	document.sections[0].header.paragraphs[0].text = "File 12/25"
	note = "<w:footnote><w:p><w:r><w:t>see § 551</w:t></w:r></w:p></w:footnote>"
	notes = f"<w:footnotes {nsdecls('w')}>{note}</w:footnotes>"
	uri, kind = PackURI("/word/footnotes.xml"), "application/xml"
	part = PackagePart(uri, kind, notes.encode(), document.part.package)
	document.part.relate_to(part, RELATIONSHIP_TYPE.FOOTNOTES)
	document.save(out)
	return out.getvalue()


def make_xlsx(rows=(("hearing", 120), (None, None), ("letter", 40))) -> bytes:
	from openpyxl import Workbook

	book, out = Workbook(), io.BytesIO()
	book.active.title = "Fees"
	for row in rows:
		book.active.append(row)
	book.save(out)
	return out.getvalue()


def make_xlsx_with_entities(*values: str) -> bytes:
	"""A sheet with the entities e0, e1 ... and the cell &e0;"""
	entities = "".join(f'<!ENTITY e{place} "{value}">' for place, value in enumerate(values))
	old, made = zipfile.ZipFile(io.BytesIO(make_xlsx())), io.BytesIO()
	with old, zipfile.ZipFile(made, "w") as package:
		for name in old.namelist():
			sheet = f"""<!DOCTYPE worksheet [{entities}]>
<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData><row>
<c t="inlineStr"><is><t>&e0;</t></is></c></row></sheetData></worksheet>"""
			package.writestr(name, sheet if "sheets/sheet" in name else old.read(name))
	return made.getvalue()


def make_pptx(*slides: str) -> bytes:
	out = io.BytesIO()
	with zipfile.ZipFile(out, "w") as package:
		for number, content in enumerate(slides, 1):
			package.writestr(f"ppt/slides/slide{number}.xml", SLIDE.format(content))
	return out.getvalue()
