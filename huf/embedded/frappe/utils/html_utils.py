"""Sanitizes HTML with nh3, which is imported only for text with tags."""

import json
import re
from collections import Counter
from functools import cache
from html import escape

from frappe.utils.data import escape_html  # noqa: F401

EXTRA_TAGS = set(
	"""article aside audio button canvas caption center col colgroup details dialog figcaption figure font
	footer header input label legend main mark menu meter nav option output path picture progress section
	select source summary svg table tbody td textarea tfoot th thead time tr video wbr""".split()
)
ATTRIBUTES = {"class", "id", "style", "title", "align", "name", "width", "height", "dir", "lang", "role"}
STYLES = set(
	"""background-color border color display float font-family font-size font-style font-weight height
	line-height list-style-type margin max-width padding text-align text-decoration vertical-align
	white-space width""".split()
)
URL_SCHEMES = {"http", "https", "mailto", "tel", "cid", "data"}
MAX_DEPTH = 200
"""Limit of open tags: nh3's time grows with the product of tags and depth."""
UNNESTED = set(
	"""area base br col embed hr img input link meta param source track wbr
	dd dt li option p tbody td tfoot th thead tr""".split()
)
"""Tags without an end tag, or closed by the next one."""
TAG = re.compile(r"</?(?=([a-zA-Z][\w:-]*))\1(?:[^<>]*>|(?=[\s/])[^<>]*)|<!--|-->|<[!?][^<>]*>?")
"""The name is matched as a whole, or the time for a long one would be quadratic."""


def sanitize_html(html, linkify: bool = False, strip_comments: bool = True, always_sanitize: bool = False):
	"""Keep plain tags, remove event attributes; turn script tags and unknown names into text.

	JSON, and text without tags, is returned as it is; tags that are nested too deeply become text.
	"""
	if not isinstance(html, str) or not TAG.search(html) or (is_json(html) and not always_sanitize):
		return html
	import nh3

	html = TAG.sub(escape_unless_allowed, html)
	if not TAG.search(html):
		return html
	if measure_depth(html) > MAX_DEPTH:
		return escape(html, quote=False)
	return nh3.clean(
		html,
		tags=allowed_tags(),
		clean_content_tags=set(),
		attributes={**nh3.ALLOWED_ATTRIBUTES, "*": ATTRIBUTES},
		generic_attribute_prefixes={"data-", "aria-"},
		filter_style_properties=STYLES,
		url_schemes=URL_SCHEMES,
		link_rel=None,
	)


def measure_depth(html: str) -> int:
	"""The largest number of tags that are open at a time."""
	names, depth, max_depth = Counter(), 0, 0
	for tag in TAG.finditer(html):
		name = (tag[1] or "").lower()
		step = -1 if tag[0].startswith("</") else 1
		if not name or name in UNNESTED or (step < 0 and not names[name]):
			continue
		names[name] += step
		depth += step
		max_depth = max(max_depth, depth)
	return max_depth


def escape_unless_allowed(found: re.Match) -> str:
	"""`List<String>` is meant as text, so it is escaped instead of removed."""
	is_allowed = not found[1] or found[1].lower() in allowed_tags()  # nh3 removes comments
	return found[0] if is_allowed else escape(found[0], quote=False)


@cache
def allowed_tags() -> set[str]:
	import nh3

	return nh3.ALLOWED_TAGS | EXTRA_TAGS


def is_json(text: str) -> bool:
	try:
		json.loads(text)
	except (ValueError, RecursionError):
		return False
	return True
