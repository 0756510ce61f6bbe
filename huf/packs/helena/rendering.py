"""Attaches a Word file with the text to a document, once a person has approved it."""

import html
import re

import frappe

from huf.ai.tools.files import write_docx

DOCUMENT = "Helena Dokument"
BLOCK_END = re.compile(r"</(?:p|div|h[1-6]|li|tr)>|<br\s*/?>", re.IGNORECASE)
HEADING = re.compile(r"<h([1-6])[^<>]*>", re.IGNORECASE)
TAG = re.compile(r"<[^<>]+>")


def enqueue_rendering(name: str) -> None:
	"""Queue the rendering after the commit, so that a mere proposal creates no file."""
	frappe.enqueue(
		"huf.packs.helena.rendering.render", queue="short", enqueue_after_commit=True, document=name
	)


def render(document: str) -> str | None:
	"""Background job: create the file unless it exists.

	Returns its name, None if the document is gone. Commits.
	"""
	if not frappe.db.exists(DOCUMENT, document):
		return None
	attachment = {"attached_to_doctype": DOCUMENT, "attached_to_name": document}
	if existing := frappe.db.exists("File", attachment):
		return existing
	doc = frappe.get_doc(DOCUMENT, document)
	text = html_to_markdown(doc.inhalt) if doc.format == "html" else doc.inhalt
	content = write_docx(f"# {doc.titel}\n\n{text}", [])
	values = {
		"doctype": "File",
		"file_name": f"{make_file_name(doc.titel)}.docx",
		"content": content,
		"is_private": 1,
	}
	made = frappe.get_doc({**values, **attachment}).insert()
	frappe.db.commit()
	return made.name


def html_to_markdown(text: str) -> str:
	"""Paragraphs and headings of HTML as Markdown."""
	marked = HEADING.sub(lambda found: f"\n\n{'#' * int(found[1])} ", text)
	return html.unescape(TAG.sub("", BLOCK_END.sub("\n\n", marked))).strip()


def make_file_name(title: str) -> str:
	return re.sub(r"[^\w .-]+", "", title).strip()[:80] or "Dokument"
