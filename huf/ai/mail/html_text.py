"""Turns the HTML of a mail into Markdown that people and agents read. Pure."""

import re
from html import unescape

from huf.ai.core.text_decoding import strip_control_chars
from huf.ai.knowledge.reader_process import convert_html

MAX_STRIPPED_CHARS = 50_000
TEXT_AND_TAG = re.compile(r"([^<]*)(<[^<>]*>?|$)")
PICTURE = re.compile(
	r"!\[([^\[\]\n]{0,300})\]\((?:<[^<>\n]{0,3000}>|[^()<>\s]{0,3000})(?: \"[^\"\n]{0,300}\")?\)"
)
"""Nobody sees it here, and its address may tell the sender of a mail who opens it."""
TABLE_TAG = re.compile(r"<(/?)(table|tr|td|th|thead|tbody|tfoot)\b[^<>]*>", re.IGNORECASE)
CELLS = ("td", "th")


def html_to_text(html: str) -> str:
	"""HTML as markdown, without scripts, styles, pictures and tables that only lay out its text."""
	# Again without control characters, because HTML can name them by their numbers.
	text = strip_control_chars(PICTURE.sub(r"\1", convert_html(unwrap_layout(html)))).strip()
	return text or strip_unconverted_html(html)


def unwrap_layout(html: str) -> str:
	"""The HTML in which tables that contain other tables, or have one column, are blocks of text."""
	tags = list(TABLE_TAG.finditer(html))
	pieces, end = [], 0
	for place in find_layout_tags([(tag[1], tag[2].lower()) for tag in tags]):
		pieces += [html[end : tags[place].start(2)], "div"]
		end = tags[place].end(2)
	return "".join([*pieces, html[end:]])


def find_layout_tags(tags: list[tuple[str, str]]) -> list[int]:
	"""The places of the tags (slash, name) of such tables, in order."""
	found: list[int] = []
	tables: list[Table] = []
	for place, (slash, name) in enumerate(tags):
		if name == "table" and not slash:
			if tables:
				tables[-1].is_layout = True
			tables.append(Table())
		if not tables:
			continue
		tables[-1].add(place, slash, name)
		if name == "table" and slash:
			found += tables.pop().list_layout()
	return sorted([*found, *(place for table in tables for place in table.list_layout())])


class Table:
	"""A table whose tags are read one after the other."""

	def __init__(self):
		self.places: list[int] = []
		self.is_layout, self.cells, self.columns = False, 0, 0

	def add(self, place: int, slash: str, name: str) -> None:
		self.places.append(place)
		if name == "tr":
			self.cells = 0
		elif name in CELLS and not slash:
			self.cells += 1
			self.columns = max(self.columns, self.cells)

	def list_layout(self) -> list[int]:
		return self.places if self.is_layout or self.columns < 2 else []


def has_tags(text: str) -> bool:
	return bool(re.search(r"</?[a-z][^<>]*>", text, flags=re.IGNORECASE))


def strip_unconverted_html(html: str) -> str:
	"""The text of HTML that the converter cannot handle. A script that is not closed reaches to the end."""
	parts, hidden = [], ""
	for text, tag in TEXT_AND_TAG.findall(html[:MAX_STRIPPED_CHARS]):
		name = tag.strip("<>/").split(" ")[0].strip().lower()
		if not hidden:
			parts.append(text)
			hidden = name if name in ("script", "style") and not tag.startswith("</") else ""
		elif name == hidden and tag.startswith("</"):
			hidden = ""
	return strip_control_chars(unescape(" ".join(parts))).strip()
