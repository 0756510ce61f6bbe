"""Files as text with places: pages of a PDF, slides, sheets, headings. Knows no site and opens no address.

The libraries are imported for the first file that needs them.
"""

import io
import re
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import PurePath

from huf.ai.core.errors import UsageError
from huf.ai.core.text_decoding import decode_bytes, strip_control_chars
from huf.ai.knowledge.chunking import Part, parts_of_markdown

MAX_UNPACKED = 300_000_000
"""Bytes of an office file once it is unpacked: a small one can be made to fill the memory."""
MAX_PAGES, MAX_ROWS = 5_000, 50_000
SLIDE = re.compile(r"ppt/slides/slide(\d+)\.xml")
DRAWING = "{http://schemas.openxmlformats.org/drawingml/2006/main}"


def read_file(name: str, content: bytes) -> list[Part]:
	"""The parts of a file, by the ending of its name. Raises UsageError for what cannot be read."""
	ending = PurePath(name).suffix.lower().lstrip(".")
	if ending not in READERS:
		raise UsageError(f"{name}: only {', '.join(sorted(READERS))} can be read.")
	try:
		parts = READERS[ending](content)
	except known_errors() as error:
		raise UsageError(
			f"{name} could not be read ({type(error).__name__}): is it a whole .{ending}?"
		) from None
	return [part for part in parts if part.text.strip()]


def read_pdf(content: bytes) -> list[Part]:
	from pypdf import PdfReader

	reader = PdfReader(io.BytesIO(content))
	if reader.is_encrypted and not reader.decrypt(""):
		raise UsageError("The PDF is locked with a password.")
	pages = enumerate(reader.pages[:MAX_PAGES], 1)
	return [Part(strip_control_chars(page.extract_text() or ""), page=number) for number, page in pages]


def read_docx(content: bytes) -> list[Part]:
	from docx import Document

	check_size(content)
	return parts_of_markdown(strip_control_chars("\n\n".join(blocks_of(Document(io.BytesIO(content))))))


def blocks_of(document) -> Iterator[str]:
	"""Paragraphs and tables in their order; headings as Markdown writes them."""
	from docx.table import Table

	for block in document.iter_inner_content():
		if isinstance(block, Table):
			yield "\n".join(" | ".join(cell.text.strip() for cell in row.cells) for row in block.rows)
			continue
		style = block.style.name if block.style is not None else ""
		level = int(style[-1]) if re.fullmatch(r"Heading [1-6]", style) else int(style == "Title")
		yield f"{'#' * level} {block.text}".strip() if block.text.strip() else ""


def read_xlsx(content: bytes) -> list[Part]:
	from openpyxl import load_workbook

	check_size(content)
	book = load_workbook(io.BytesIO(content), read_only=True, data_only=True)
	parts = []
	for sheet in book.worksheets:
		rows = sheet.iter_rows(max_row=MAX_ROWS, values_only=True)
		lines = [" | ".join(str(cell) for cell in row if cell is not None) for row in rows]
		parts.append(
			Part(strip_control_chars("\n".join(line for line in lines if line)), heading=sheet.title)
		)
	return parts


def read_pptx(content: bytes) -> list[Part]:
	from xml.etree import ElementTree

	check_size(content)
	with zipfile.ZipFile(io.BytesIO(content)) as package:
		slides = {int(found[1]): name for name in package.namelist() if (found := SLIDE.fullmatch(name))}
		trees = {number: ElementTree.fromstring(package.read(slides[number])) for number in sorted(slides)}
	return [Part(strip_control_chars(text_of_slide(tree)), page=number) for number, tree in trees.items()]


def text_of_slide(tree) -> str:
	paragraphs = tree.iter(f"{DRAWING}p")
	return "\n".join("".join(run.text or "" for run in each.iter(f"{DRAWING}t")) for each in paragraphs)


def read_html(content: bytes) -> list[Part]:
	return parts_of_html(decode_bytes(content))


def parts_of_html(html: str) -> list[Part]:
	from html_to_markdown import convert

	return parts_of_markdown(strip_control_chars(convert(html).content or ""))


def read_markdown(content: bytes) -> list[Part]:
	return parts_of_markdown(strip_control_chars(decode_bytes(content).removeprefix("\ufeff")))


def read_text(content: bytes) -> list[Part]:
	return [Part(strip_control_chars(decode_bytes(content).removeprefix("\ufeff")))]


def check_size(content: bytes) -> None:
	with zipfile.ZipFile(io.BytesIO(content)) as package:
		if sum(each.file_size for each in package.infolist()) > MAX_UNPACKED:
			raise UsageError("The file is too large once it is unpacked.")


def known_errors() -> tuple[type[Exception], ...]:
	"""What a broken file raises in the libraries."""
	from pypdf.errors import PyPdfError

	broken = (zipfile.BadZipFile, zlib.error, struct.error, EOFError, OSError, SyntaxError)
	surprised = (
		ArithmeticError,
		AssertionError,
		AttributeError,
		LookupError,
		RuntimeError,
		TypeError,
		ValueError,
	)
	return (PyPdfError, *broken, *surprised)


READERS: dict[str, Callable[[bytes], list[Part]]] = {
	"pdf": read_pdf,
	"docx": read_docx,
	"xlsx": read_xlsx,
	"pptx": read_pptx,
	**dict.fromkeys(("html", "htm"), read_html),
	**dict.fromkeys(("md", "markdown"), read_markdown),
	**dict.fromkeys(("txt", "csv", "tsv", "log", "json", "xml", "yaml", "yml"), read_text),
}
