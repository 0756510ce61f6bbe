"""Adds the images of a transcript to a model request, as data URLs.

Permission was checked when each file was attached: a transcript names only files of its conversation.
"""

import base64
from collections.abc import Iterable, Iterator

import frappe

from huf.ai.core.attachments import drop_images, find_image_type
from huf.ai.core.errors import UsageError
from huf.ai.core.files import read_file_content

MAX_IMAGES_CHARS = 20_000_000
"""Limit for all data URLs of a request; the newest images are sent."""
NO_VISION_NOTE = "You cannot see pictures. Where it matters, tell the person that this model cannot."
REMOVED_NOTE = "A picture is no longer shown."


def insert_images(messages: list[dict], supports_vision: bool) -> list[dict]:
	"""Messages in OpenAI's format, with images as content parts, or with a note that the model cannot see
	them.
	"""
	if not supports_vision:
		return [drop_images(each, NO_VISION_NOTE) for each in messages]
	left, sent = MAX_IMAGES_CHARS, []
	for message in reversed(messages):
		if message.get("images"):
			urls = list(read_images(message["images"], left))
			left -= sum(map(len, urls))
			message = to_content_parts(message, urls)
		sent.append(message)
	return sent[::-1]


def read_images(names: Iterable[str], left: int) -> Iterator[str]:
	"""Data URLs of the images that still exist, as many as fit into `left` characters."""
	for name in names:
		if url := read_image(name, left):
			left -= len(url)
			yield url


def to_content_parts(message: dict, urls: list[str]) -> dict:
	gone = REMOVED_NOTE if len(urls) < len(message["images"]) else ""
	described = drop_images(message, gone) if gone else message
	words = [{"type": "text", "text": described["content"]}] if described["content"] else []
	images = [{"type": "image_url", "image_url": {"url": url}} for url in urls]
	return {"role": message["role"], "content": [*words, *images]}


def read_image(name: str, max_chars: int) -> str | None:
	"""A File as a data URL of at most `max_chars` characters; None if it is longer, no image, or deleted."""
	if not frappe.db.exists("File", {"name": name, "attached_to_doctype": "Agent Conversation"}):
		return None
	file = frappe.get_doc("File", name)
	try:
		content = read_file_content(file)
	except (OSError, UsageError):  # it is gone, or a link
		return None
	kind = find_image_type(content)
	url = f"data:{kind};base64,{base64.b64encode(content).decode()}"
	return url if kind and len(url) <= max_chars else None
