"""A document's text as a Word file beside it, made once a person has allowed the document. Never changes the document."""

import html
import re

import frappe

from huf.ai.tools.files import write_docx

DOCUMENT = "Helena Dokument"
BLOCK_END = re.compile(r"</(?:p|div|h[1-6]|li|tr)>|<br\s*/?>", re.IGNORECASE)
HEADING = re.compile(r"<h([1-6])[^>]*>", re.IGNORECASE)
TAG = re.compile(r"<[^>]+>")


def enqueue(name: str) -> None:
	"""After the commit: while it is only proposed, nothing is made."""
	frappe.enqueue(
		"huf.packs.helena.rendering.render", queue="short", enqueue_after_commit=True, document=name
	)


def render(document: str) -> str | None:
	"""Make the file, once; gives its name, None where the document is gone. Commits."""
	if not frappe.db.exists(DOCUMENT, document):
		return None
	beside = {"attached_to_doctype": DOCUMENT, "attached_to_name": document}
	if known := frappe.db.exists("File", beside):
		return known
	doc = frappe.get_doc(DOCUMENT, document)
	text = text_of_html(doc.inhalt) if doc.format == "html" else doc.inhalt
	content = write_docx(f"# {doc.titel}\n\n{text}", [])
	values = {
		"doctype": "File",
		"file_name": f"{file_name(doc.titel)}.docx",
		"content": content,
		"is_private": 1,
	}
	made = frappe.get_doc({**values, **beside}).insert()
	frappe.db.commit()
	return made.name


def text_of_html(text: str) -> str:
	"""Paragraphs and headings as Markdown has them."""
	marked = HEADING.sub(lambda found: f"\n\n{'#' * int(found[1])} ", text)
	return html.unescape(TAG.sub("", BLOCK_END.sub("\n\n", marked))).strip()


def file_name(title: str) -> str:
	return re.sub(r"[^\w .-]+", "", title).strip()[:80] or "Dokument"
