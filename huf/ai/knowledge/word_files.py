"""Reads the visible text of a Word file, with all tracked changes accepted."""

import io
import re
from collections.abc import Iterator
from contextlib import suppress

from docx import Document
from docx.opc.constants import RELATIONSHIP_TYPE
from docx.oxml import parse_xml
from docx.oxml.ns import qn
from docx.table import Table
from docx.text.paragraph import Paragraph
from lxml import etree

CONTAINERS = [
	qn(f"w:{name}") for name in ("sdt", "sdtContent", "ins", "moveTo", "smartTag", "customXml", "fldSimple")
]
"""Elements around text that python-docx does not look into, such as content controls and insertions."""
HIDDEN = [
	*(qn(f"w:{name}") for name in ("del", "moveFrom", "sdtPr", "sdtEndPr", "smartTagPr", "customXmlPr")),
	"{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback",
]
"""Deleted text, properties, and copies for old versions of Word."""
HEADERS = (
	"header",
	"first_page_header",
	"even_page_header",
	"footer",
	"first_page_footer",
	"even_page_footer",
)
NOTES = (RELATIONSHIP_TYPE.FOOTNOTES, RELATIONSHIP_TYPE.ENDNOTES)


def read_blocks(content: bytes) -> Iterator[str]:
	"""The texts of a file, headings in Markdown. Headers and footers come first, notes last."""
	document = Document(io.BytesIO(content))
	simplify(document._element)
	yield from dict.fromkeys(text for edge in list_edges(document) for text in iterate_blocks(edge))
	yield from iterate_blocks(document)
	yield from read_notes(document)


def list_edges(document) -> Iterator:
	"""The headers and footers, each once. Damaged ones are left out."""
	for section in document.sections:
		for name in HEADERS:
			with suppress(AttributeError, KeyError):
				edge = getattr(section, name)
				if not edge.is_linked_to_previous:
					simplify(edge._element)
					yield edge


def simplify(element) -> None:
	etree.strip_elements(element, *HIDDEN, with_tail=False)
	etree.strip_tags(element, *CONTAINERS)


def iterate_blocks(container) -> Iterator[str]:
	"""Paragraphs, their text boxes, and tables, in document order."""
	for block in container.iter_inner_content():
		if isinstance(block, Table):
			yield read_table(block)
			continue
		style = block.style.name if block.style is not None else ""
		level = int(style[-1]) if re.fullmatch(r"Heading [1-6]", style) else int(style == "Title")
		yield f"{'#' * level} {block.text}".strip() if block.text.strip() else ""
		yield from read_paragraphs(block._p)[1:]


def read_table(table: Table) -> str:
	return "\n".join(" | ".join(map(read_cell, row.cells)) for row in table.rows)


def read_cell(cell) -> str:
	"""The text of a cell, with the tables in it."""
	blocks = cell.iter_inner_content()
	texts = (
		read_table(block) if isinstance(block, Table) else "\n".join(read_paragraphs(block._p))
		for block in blocks
	)
	return "\n".join(texts).strip()


def read_notes(document) -> Iterator[str]:
	for kind in NOTES:
		for relation in document.part.rels.values():
			if relation.reltype == kind:
				with suppress(etree.XMLSyntaxError):
					root = parse_xml(relation.target_part.blob)
					simplify(root)
					yield "\n".join(read_paragraphs(root)).strip()


def read_paragraphs(element) -> list[str]:
	"""The texts of an element's paragraphs, itself included; those within a paragraph are its text boxes."""
	return [Paragraph(each, element).text for each in element.iter(qn("w:p"))]
