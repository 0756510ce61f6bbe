"""Generates files: a table or text as csv, xlsx, docx or pdf, stored as a private File of the run's user.

Formulas are written as text, so that no spreadsheet computes a model's output.
"""

import csv
import io
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import frappe

from huf.ai.core.errors import ToolError
from huf.ai.core.files import get_ending
from huf.ai.core.types import Effect
from huf.ai.tools.registry import tool
from huf.ai.tools.schemas import closed_object, text_schema

Rows = list[list[Any]]
CELL_SCHEMA = {"type": ["string", "number", "boolean", "null"]}
PARAMETERS = closed_object(
	{
		"file_name": text_schema("With its ending: .csv, .xlsx, .docx or .pdf"),
		"text": text_schema("For docx and pdf: paragraphs; a line with # is a heading"),
		"rows": {
			"type": "array",
			"items": {"type": "array", "items": CELL_SCHEMA},
			"description": "A table, its first row the column names",
		},
	},
	["file_name"],
)
CONTROL_CHARS = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")
MAX_CELL_CHARS = 32_767
"""Limit of a cell of an xlsx file. The library cuts longer texts without an error."""
FORMULA = re.compile(r"[=+\-@\t\r]")
INNER_FORMULA = re.compile(r"([;\t][ ]*)(?=[=+@])")
NUMBER = re.compile(r"[+-]?\d+(?:[.,]\d+)*%?")
HEADING = re.compile(r"(#{1,6})\s+(.*)")
LATIN_REPLACEMENTS = str.maketrans(
	{"–": "-", "—": "-", "‘": "'", "’": "'", "“": '"', "”": '"', "„": '"', "…": "...", "€": "EUR"}
)
FONTS = (
	"/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf",
	"/usr/share/fonts/dejavu-sans-fonts/DejaVuSans.ttf",
	"/usr/share/fonts/TTF/DejaVuSans.ttf",
	"/usr/share/fonts/truetype/liberation/LiberationSans-Regular.ttf",
	"/Library/Fonts/Arial Unicode.ttf",
	"C:/Windows/Fonts/arial.ttf",
)


@tool(
	"Make a file for the person: a table or a text",
	effect=Effect.WRITE,
	documents_only=True,
	parameters=PARAMETERS,
)
def generate_file(file_name: str, text: str = "", rows: Rows | None = None) -> dict:
	"""Returns {doctype, name, file_name, file_url}. Raises ToolError for content that cannot be written."""
	ending = get_ending(file_name)
	if ending not in WRITERS:
		raise ToolError(f"{file_name!r} must end in one of: {', '.join(f'.{each}' for each in WRITERS)}.")
	table = [[clean_cell(cell) for cell in row] for row in rows or ()]
	if not table and (ending in ("csv", "xlsx") or not text.strip()):
		raise ToolError(
			f"There is nothing to write: a .{ending} needs rows"
			f"{' or text' if ending in ('docx', 'pdf') else ''}."
		)
	content = WRITERS[ending](clean_cell(text), table)
	doc = frappe.get_doc(
		{"doctype": "File", "file_name": file_name, "content": content, "is_private": 1}
	).insert()
	return {"doctype": "File", "name": doc.name, "file_name": doc.file_name, "file_url": doc.file_url}


def clean_cell(value: Any) -> Any:
	"""Remove control characters, which no office format allows."""
	return CONTROL_CHARS.sub("", value) if isinstance(value, str) else value


def write_csv(text: str, rows: Rows) -> bytes:
	out = io.StringIO()
	csv.writer(out).writerows([escape_formula(cell) for cell in row] for row in rows)
	# Without a byte order mark, spreadsheets assume an older encoding.
	return out.getvalue().encode("utf-8-sig")


def escape_formula(cell: Any) -> Any:
	"""Escape a cell so that no spreadsheet takes it for a formula."""
	if not isinstance(cell, str) or NUMBER.fullmatch(cell):
		return cell
	# With another separator, what follows one is the beginning of a cell.
	escaped = INNER_FORMULA.sub(r"\1'", cell)
	return f"'{escaped}" if FORMULA.match(cell) else escaped


def write_xlsx(text: str, rows: Rows) -> bytes:
	from openpyxl import Workbook
	from openpyxl.styles import Font

	book = Workbook()
	for number, row in enumerate(rows, 1):
		for place, value in enumerate(row, 1):
			cell = book.active.cell(number, place, value)
			if isinstance(value, str):
				if len(value) > MAX_CELL_CHARS:
					raise ToolError(
						f"Row {number}: a cell of an .xlsx has at most {MAX_CELL_CHARS:,} characters."
					)
				cell.data_type = "s"
			if number == 1:
				cell.font = Font(bold=True)
	book.active.freeze_panes = "A2"
	return save_to_bytes(book.save)


def write_docx(text: str, rows: Rows) -> bytes:
	from docx import Document

	document = Document()
	for level, words in split_paragraphs(text):
		document.add_heading(words, level) if level else document.add_paragraph(words)
	if rows:
		table = document.add_table(0, max(map(len, rows)), style="Table Grid")
		for row in rows:
			for cell, value in zip(table.add_row().cells, row, strict=False):
				cell.text = to_cell_text(value)
	return save_to_bytes(document.save)


def write_pdf(text: str, rows: Rows) -> bytes:
	from fpdf import FPDF

	pdf = FPDF()
	pdf.add_page()
	change = choose_font(pdf, text + "".join(to_cell_text(cell) for row in rows for cell in row))
	for level, words in split_paragraphs(text):
		pdf.set_font_size(20 - 2 * level if level else 11)
		pdf.multi_cell(0, text=change(words), new_x="LMARGIN", new_y="NEXT")
		pdf.ln(3)
	if rows:
		width = max(map(len, rows))
		pdf.set_font_size(10)
		with pdf.table(first_row_as_headings=False) as table:
			for row in rows:
				table.row([change(to_cell_text(cell)) for cell in [*row, *[""] * (width - len(row))]])
	return bytes(pdf.output())


def choose_font(pdf, text: str) -> Callable[[str], str]:
	"""Set a font with the letters of `text`; return a function that adapts text to it. Raises ToolError."""
	path = next((path for path in FONTS if Path(path).exists()), None)
	if is_latin(text) or (is_latin(text.translate(LATIN_REPLACEMENTS)) and not path):
		pdf.set_font("helvetica", size=11)
		return lambda words: words.translate(LATIN_REPLACEMENTS)
	if not path:
		raise ToolError(
			"This server has no font for these letters. Make a .docx instead, or have DejaVu Sans installed."
		)
	pdf.add_font("huf", fname=path)
	pdf.set_font("huf", size=11)
	return str


def is_latin(text: str) -> bool:
	return text.encode("latin-1", "replace").decode("latin-1") == text


def split_paragraphs(text: str) -> list[tuple[int, str]]:
	"""(level of the heading or 0, text) of each paragraph; a heading is a line, other paragraphs end at an
	empty line.
	"""
	found: list[tuple[int, str]] = []
	for block in re.split(r"\n\s*\n|^(?=#)", text, flags=re.MULTILINE):
		first, _, rest = block.strip().partition("\n")
		heading = HEADING.fullmatch(first)
		found += [(len(heading[1]), heading[2]), (0, rest.strip())] if heading else [(0, block.strip())]
	return [(level, words) for level, words in found if words]


def to_cell_text(value: Any) -> str:
	return "" if value is None else str(value)


def save_to_bytes(save: Callable[[io.BytesIO], None]) -> bytes:
	out = io.BytesIO()
	save(out)
	return out.getvalue()


WRITERS: dict[str, Callable[[str, Rows], bytes]] = {
	"csv": write_csv,
	"xlsx": write_xlsx,
	"docx": write_docx,
	"pdf": write_pdf,
}
