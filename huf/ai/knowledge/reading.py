"""Parses files into text with positions: pages of a PDF, slides, sheets, headings. Pure; opens no URL.

`reader_process` calls it within limits. Parser libraries are imported with the first file that needs them.
"""

import io
import re
import struct
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime, time
from html import unescape

from huf.ai.core.errors import UsageError
from huf.ai.core.files import get_ending
from huf.ai.core.text_decoding import decode_bytes, strip_control_chars
from huf.ai.knowledge.chunking import Part, split_markdown

MAX_UNPACKED_BYTES = 200_000_000
"""Limit for unpacked office files, against zip bombs."""
XML_OUT_OF_MEMORY = 2
"""The code of libxml2, which lxml raises as a syntax error."""
TITLE = re.compile(r"<title\b[^<>]{0,200}>([^<>]{1,300})</title", re.IGNORECASE)
MAX_HEAD_CHARS = 50_000
"""How much of a page is searched for its title."""
QUOTE_TAG = re.compile(r"<(/?)(blockquote|pre)\b[^<>]*>?", re.IGNORECASE)
EMBEDDED_PICTURE = re.compile(r"!\[([^\[\]\n]{0,300})\]\(<?data:[^()]*\)")
"""A picture in Markdown with its content in the URL (data:), which fills thousands of characters."""
MAX_QUOTES = 200
"""More quotes than this, or code blocks that do not end, are read as plain paragraphs: nested, they multiply
the text, and 13 KB of them would take 650 MB.
"""
CELL_END = "\x1f"
"""The unit separator, which no cell contains."""
OFFICE_ENDINGS = ("docx", "xlsx", "pptx")
COMPOUND_FILE = bytes.fromhex("D0CF11E0A1B11AE1")
"""How files of old versions of Office begin, and those that are locked with a password."""
SLIDE = re.compile(r"ppt/slides/slide(\d+)\.xml")
DRAWING = "{http://schemas.openxmlformats.org/drawingml/2006/main}"


class UnreadableFile(UsageError):
	"""`text` has places for `values`; who reads the error translates it."""

	def __init__(self, text: str, *values: str):
		super().__init__(text.format(*values))
		self.text, self.values = text, values


def parse_file(name: str, content: bytes) -> list[Part]:
	"""The parts of a file, read by its extension. Raises UnreadableFile for unknown or broken files."""
	ending = get_ending(name)
	if ending not in READERS:
		raise UnreadableFile("{0}: only {1} can be read.", name, ", ".join(sorted(READERS)))
	if ending in OFFICE_ENDINGS and content.startswith(COMPOUND_FILE):
		raise UnreadableFile("{0} is locked with a password, or is a file of an Office before 2007.", name)
	try:
		parts = READERS[ending](content)
	except list_reader_errors() as error:
		if getattr(error, "code", None) == XML_OUT_OF_MEMORY:
			raise MemoryError from None
		kind = type(error).__name__
		raise UnreadableFile("{0} could not be read ({1}): is it a whole .{2}?", name, kind, ending) from None
	return [part for part in parts if part.text.strip()]


def read_pdf(content: bytes) -> list[Part]:
	from pypdf import PdfReader

	reader = PdfReader(io.BytesIO(content))
	if reader.is_encrypted and not reader.decrypt(""):
		raise UnreadableFile("The PDF is locked with a password.")
	pages = enumerate(reader.pages, 1)
	parts = [Part(strip_control_chars(page.extract_text() or ""), page=number) for number, page in pages]
	return [*parts, Part(strip_control_chars(read_form(reader)))]


def read_form(reader) -> str:
	"""The values of a PDF form, as lines "name: value". They are not in the text of the pages."""
	try:
		fields = {name: field.get("/V") for name, field in (reader.get_fields() or {}).items()}
	except list_reader_errors():
		return ""
	values = {name: describe_field_value(value) for name, value in fields.items()}
	return "\n".join(f"{name}: {value}" for name, value in values.items() if value)


def describe_field_value(value) -> str:
	"""A text, the state of a ticked box such as /Yes, or the selected items of a list; "" for a signature."""
	if isinstance(value, list):
		return ", ".join(map(str, value))
	return str(value).removeprefix("/") if isinstance(value, str) and value != "/Off" else ""


def read_docx(content: bytes) -> list[Part]:
	from huf.ai.knowledge.word_files import read_blocks

	check_unpacked_size(content)
	return split_markdown(strip_control_chars("\n\n".join(read_blocks(content))))


def read_xlsx(content: bytes) -> list[Part]:
	from openpyxl import load_workbook

	check_unpacked_size(content)
	book = load_workbook(io.BytesIO(content), read_only=True, data_only=True)
	parts = []
	for sheet in book.worksheets:
		rows = render_rows(sheet.iter_rows(values_only=True))
		parts.append(Part(strip_control_chars("\n".join(rows)), heading=sheet.title))
	return parts


def render_rows(rows: Iterable[Sequence]) -> Iterator[str]:
	"""The rows of a table that have values, with the columns that have any."""
	used: set[int] = set()
	lines = []
	for row in rows:
		places = [place for place, cell in enumerate(row) if cell is not None]
		used.update(places)
		# A row may be padded to thousands of columns. As one text, it takes less memory than its cells.
		cells = row[: places[-1] + 1] if places else ()
		lines.append(CELL_END.join(map(render_cell, cells)))
	for line in filter(None, lines):
		cells = line.split(CELL_END)
		yield " | ".join(cell for place, cell in enumerate(cells) if place in used)


def render_cell(value) -> str:
	"""A value of openpyxl, which returns a date as midnight of that day."""
	if isinstance(value, datetime) and value.time() == time.min:
		value = value.date()
	return "" if value is None else str(value)


def read_pptx(content: bytes) -> list[Part]:
	from xml.etree import ElementTree

	check_unpacked_size(content)
	with zipfile.ZipFile(io.BytesIO(content)) as package:
		slides = {int(found[1]): name for name in package.namelist() if (found := SLIDE.fullmatch(name))}
		trees = {number: ElementTree.fromstring(package.read(slides[number])) for number in sorted(slides)}  # noqa: S314 (in a child with limits)
	return [Part(strip_control_chars(read_slide(tree)), page=number) for number, tree in trees.items()]


def read_slide(tree) -> str:
	paragraphs = tree.iter(f"{DRAWING}p")
	return "\n".join("".join(run.text or "" for run in each.iter(f"{DRAWING}t")) for each in paragraphs)


def read_html(content: bytes) -> list[Part]:
	return split_html_text(decode_bytes(content))


def split_html_text(html: str) -> list[Part]:
	"""Split a page by its headings. Parts before the first heading get the title of the page."""
	found = TITLE.search(html[:MAX_HEAD_CHARS])
	title = " ".join(unescape(found[1]).split()) if found else ""
	parts = split_markdown(strip_control_chars(to_markdown(html)))
	return [replace(part, heading=part.heading or title) for part in parts]


def to_markdown(html: str) -> str:
	"""HTML as Markdown, without its head, scripts and styles."""
	from html_to_markdown import ConversionOptions, convert

	tags = Counter((slash, name.lower()) for slash, name in QUOTE_TAG.findall(html))
	many = {"blockquote": tags["", "blockquote"], "pre": tags["", "pre"] - tags["/", "pre"]}
	html = QUOTE_TAG.sub(lambda tag: "<p>" if many[tag[2].lower()] > MAX_QUOTES else tag[0], html)
	text = convert(html, ConversionOptions(extract_metadata=False)).content or ""
	return EMBEDDED_PICTURE.sub(r"\1", text)


def read_markdown(content: bytes) -> list[Part]:
	return split_markdown(strip_control_chars(decode_bytes(content).removeprefix("\ufeff")))


def read_plain_text(content: bytes) -> list[Part]:
	return [Part(strip_control_chars(decode_bytes(content).removeprefix("\ufeff")))]


def check_unpacked_size(content: bytes) -> None:
	with zipfile.ZipFile(io.BytesIO(content)) as package:
		if sum(each.file_size for each in package.infolist()) > MAX_UNPACKED_BYTES:
			raise UnreadableFile("The file is too large once it is unpacked.")


def list_reader_errors() -> tuple[type[Exception], ...]:
	"""Exceptions that the parser libraries raise for broken files."""
	from pypdf.errors import PyPdfError

	return (
		PyPdfError,
		zipfile.BadZipFile,
		zlib.error,
		struct.error,
		EOFError,
		OSError,
		SyntaxError,
		ArithmeticError,
		AssertionError,
		AttributeError,
		LookupError,
		RuntimeError,
		TypeError,
		ValueError,
	)


PLAIN_READERS: dict[str, Callable[[bytes], list[Part]]] = {
	"md": read_markdown,
	"markdown": read_markdown,
	"txt": read_plain_text,
	"csv": read_plain_text,
	"tsv": read_plain_text,
	"log": read_plain_text,
	"json": read_plain_text,
	"xml": read_plain_text,
	"yaml": read_plain_text,
	"yml": read_plain_text,
}
READERS: dict[str, Callable[[bytes], list[Part]]] = {
	**PLAIN_READERS,
	"pdf": read_pdf,
	"docx": read_docx,
	"xlsx": read_xlsx,
	"pptx": read_pptx,
	"html": read_html,
	"htm": read_html,
}
