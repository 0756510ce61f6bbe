"""Tools for the web: search, open a page, extract text.

Only public addresses are opened (see `http.py`), and only pages that robots.txt allows. Results are marked
`untrusted`.
"""

import asyncio
import json
import re
from typing import Any
from urllib.parse import urlsplit

import frappe

from huf.ai.core.errors import ToolError
from huf.ai.core.settings import get_settings
from huf.ai.core.types import Effect
from huf.ai.storage.shared_values import share_value
from huf.ai.tools import http
from huf.ai.tools.call_policy import make_redirect_check
from huf.ai.tools.registry import tool

USER_AGENT = "Huf"
"""Huf's name in requests and in robots.txt."""
HEADERS = {
	"User-Agent": f"{USER_AGENT}/1.0",
	"Accept": "text/html, text/plain, application/json;q=0.9, */*;q=0.5",
}
ROBOTS_TTL_S = 3600
MAX_ROBOTS_BYTES = 500_000
MAX_TEXT_CHARS = 100_000
MAX_TAGS = 40_000
"""Tags of a page that are read, within seconds; 500,000 would take minutes. The rest is left out."""
ATTRIBUTES = r"""(?:[\s/]+|[^\s/>][^\s/>=]*(?:\s*=\s*(?:"[^"]*"?|'[^']*'?|[^\s>"'][^\s>]*)?)?)*"""
TAG = re.compile(
	r"<!(?=--).*?(?:--!?>|\Z)"
	rf"|(<(?:(script|style)(?=[\s/>])|[a-z][^\s/>]{{0,20}}))({ATTRIBUTES})((?(2).*?(?:</\2|\Z)))",
	re.IGNORECASE | re.DOTALL,
)
"""A comment, or an opening tag: its name, attributes, and the content if this is a script or style."""
MAX_ATTRIBUTES_CHARS = 1000
"""Longer attributes of a tag are left out: the parser's time is quadratic in their number."""
MARKUP = re.compile(
	r"<(?:!doctype|html|body|head|div|p|a|span|table|h[1-6]|ul|ol|br|article)\b", re.IGNORECASE
)
NO_SEARCH = (
	"No web search is set up on this site. A Huf Manager can choose a Search Provider in Huf Settings."
)


@tool(effect=Effect.EXTERNAL, sensitive=())
async def web_search(query: str, limit: int = 5) -> dict:
	"""Search the web. Returns titles, addresses and short texts of the results.

	Args:
		query: What to look for, in a few words
		limit: The maximum number of results
	"""
	from huf.ai.providers import services

	if not get_settings().search_provider:
		raise ToolError(NO_SEARCH)
	results = await services.search_web(query, max(1, min(limit, 20)))
	return {"query": query, "results": results, "untrusted": True}


@tool(effect=Effect.EXTERNAL, sensitive=["url"])
async def open_url(url: str) -> dict:
	"""Open a web page and return its readable text.

	Args:
		url: The whole address, with http:// or https://
	"""
	if urlsplit(url).username is not None:
		raise ToolError(f"{http.host_of(url)}: an address with a user name in it is not opened.")
	check_redirect = make_redirect_check()

	async def check(each: str) -> None:
		await check_redirect(each)
		await check_robots(each)

	page = await http.send_request(
		"GET", url, headers=HEADERS, timeout=get_settings().tool_timeout, before_each=check
	)
	if page["status"] >= 400:
		raise ToolError(f"{http.host_of(url)} answered with status {page['status']}.")
	if page["body"] is None:
		raise ToolError(f"{url} is of the type {page['content_type']}. Only text can be opened.")
	title, text, is_cut = await asyncio.to_thread(read_page, page["body"], page["content_type"])
	more = {"more": True} if is_cut or len(text) > MAX_TEXT_CHARS else {}
	return {"url": page["url"], "title": title, "text": text[:MAX_TEXT_CHARS], **more, "untrusted": True}


@tool(effect=Effect.READ)
def extract_text(content: str) -> dict:
	"""Extract plain readable text from HTML or untidy text.

	Args:
		content: The HTML or text
	"""
	title, text, is_cut = read_page(content, "text/html" if MARKUP.search(content) else "text/plain")
	return {"title": title, "text": text, **({"more": True} if is_cut else {})}


async def check_robots(url: str) -> None:
	"""Raise ToolError if the site's robots.txt disallows the URL or cannot be read."""
	from protego import Protego

	parts = urlsplit(url)
	rules = await fetch_robots(f"{parts.scheme}://{http.host_of(url)}")
	if not Protego.parse(rules).can_fetch(url, USER_AGENT):
		raise ToolError(
			f"{http.host_of(url)} does not allow programs to read {parts.path or '/'} (robots.txt)."
		)


async def fetch_robots(origin: str) -> str:
	key = f"huf_robots|{origin}"
	if (cached := frappe.cache.get_value(key, expires=True)) is not None:
		return cached
	timeout = min(10, get_settings().tool_timeout)
	answer = await http.send_request("GET", f"{origin}/robots.txt", headers=HEADERS, timeout=timeout)
	if answer["status"] >= 500:
		raise ToolError(f"{http.host_of(origin)} did not return its robots.txt: status {answer['status']}.")
	found = answer["status"] == 200 and isinstance(answer["body"], str)
	rules = answer["body"][:MAX_ROBOTS_BYTES] if found else ""
	share_value(key, rules, ROBOTS_TTL_S)
	return rules


def read_page(body: Any, content_type: str) -> tuple[str | None, str, bool]:
	"""(title, readable text, whether more is left out). Runs in another thread, so it must not use frappe."""
	if not isinstance(body, str):
		return None, json.dumps(body, ensure_ascii=False), False
	if "html" not in content_type:
		return None, re.sub(r"\n{3,}", "\n\n", re.sub(r"[ \t]+", " ", body)).strip(), False
	import trafilatura

	parts = body.split("<", MAX_TAGS + 1)
	body, is_cut = TAG.sub(shorten_tag, "<".join(parts[: MAX_TAGS + 1])), len(parts) > MAX_TAGS + 1
	# trafilatura reads nothing in a fragment such as <p>Hello</p>.
	body = body if re.search(r"<html\b", body, re.IGNORECASE) else f"<html>{body}</html>"
	main = trafilatura.extract(body, output_format="markdown", include_comments=False)
	about = trafilatura.extract_metadata(body)
	return about.title if about else None, main or trafilatura.html2txt(body), is_cut


def shorten_tag(tag: re.Match) -> str:
	is_long = len(tag[3] or "") > MAX_ATTRIBUTES_CHARS
	return f"{tag[1]}{tag[4]}" if is_long else tag[0]
