"""Reads files in a child process with limits of time, memory and output, because their parsers have none.

Plain text and small HTML are read in this process. Run as a module, this is the child; it knows no site.
"""

import json
import os
import re
import subprocess
import sys
from threading import BoundedSemaphore

from huf.ai.core.errors import UsageError
from huf.ai.core.files import get_ending
from huf.ai.core.text_decoding import decode_bytes
from huf.ai.knowledge import reading
from huf.ai.knowledge.chunking import Part
from huf.ai.knowledge.reading import UnreadableFile

PROCESSOR_S = 30
TIMEOUT_S = 120
MAX_MEMORY_BYTES = 1_000_000_000
MAX_OUTPUT_BYTES = 50_000_000
MAX_INLINE_HTML_CHARS = 50_000
MAX_INLINE_QUOTES = 40
"""The most quotes and code blocks in HTML that this process reads itself. Nested ones multiply its text."""
QUOTE = re.compile(r"<(?:blockquote|pre)\b", re.IGNORECASE)
HTML_ENDINGS = ("html", "htm")
EXCESS = "{0} takes too much time or memory to be read. Send a smaller file, or its text."
COUNT = BoundedSemaphore(2)
"""How many children this process has at once."""


def read_file(name: str, content: bytes) -> list[Part]:
	"""The parts of a file. Raises UsageError, in the user's language, for one that is unknown, broken or
	takes too much to read.
	"""
	try:
		return read_within_limits(name, content)
	except UnreadableFile as error:
		# The child knows no site, and begins faster without frappe.
		from frappe import _

		raise UsageError(_(error.text).format(*error.values)) from None


def read_within_limits(name: str, content: bytes) -> list[Part]:
	ending = get_ending(name)
	small = (
		ending in HTML_ENDINGS
		and len(content) <= MAX_INLINE_HTML_CHARS
		and is_small_html(decode_bytes(content))
	)
	if small or ending in reading.PLAIN_READERS or ending not in reading.READERS:
		return reading.parse_file(name, content)
	return read_in_child(name, content)


def split_html(html: str) -> list[Part]:
	"""Like `reading.split_html_text`; HTML that takes too much to read has no parts."""
	if is_small_html(html):
		return reading.split_html_text(html)
	try:
		return read_in_child("text.html", html.encode("utf-8", "replace"))
	except UnreadableFile:
		return []


def convert_html(html: str) -> str:
	"""HTML as Markdown; "" for HTML that takes too much to read."""
	if is_small_html(html):
		return reading.to_markdown(html)
	return "".join(part.text for part in split_html(html))


def is_small_html(html: str) -> bool:
	return len(html) <= MAX_INLINE_HTML_CHARS and len(QUOTE.findall(html)) <= MAX_INLINE_QUOTES


def read_in_child(name: str, content: bytes) -> list[Part]:
	command = [sys.executable, "-m", __name__, name]
	environment = {
		**{key: os.environ[key] for key in ("PATH", "SYSTEMROOT", "LD_LIBRARY_PATH") if key in os.environ},
		"PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
		# Each thread of OpenBLAS, which openpyxl loads by way of numpy, reserves address space.
		"OPENBLAS_NUM_THREADS": "1",
		# Its parser in Python takes twice as long. Here limits hold, and expat bounds entities.
		"OPENPYXL_DEFUSEDXML": "False",
	}
	with COUNT:
		try:
			done = subprocess.run(
				command, input=content, env=environment, capture_output=True, timeout=TIMEOUT_S
			)
		except subprocess.TimeoutExpired:
			raise UnreadableFile(EXCESS, name) from None
	if done.returncode:
		raise UnreadableFile(EXCESS, name)
	answer = json.loads(done.stdout)
	if "error" in answer:
		raise UnreadableFile(*answer["error"])
	return [Part(text, heading, page, start) for text, heading, page, start in answer["parts"]]


# --- in the child ---


def read_from_stdin(name: str) -> None:
	content = sys.stdin.buffer.read()
	limit_resources()
	try:
		parts = reading.parse_file(name, content)
		answer: dict = {"parts": [(part.text, part.heading, part.page, part.start) for part in parts]}
	except UnreadableFile as error:
		answer = {"error": [error.text, *error.values]}
	except MemoryError:
		answer = {"error": [EXCESS, name]}
	output = json.dumps(answer).encode()
	if len(output) > MAX_OUTPUT_BYTES:
		output = json.dumps({"error": [EXCESS, name]}).encode()
	sys.stdout.buffer.write(output)


def limit_resources() -> None:
	try:
		import resource
	except ImportError:
		# Windows: the time limit of the parent and the limits of `reading` remain.
		return
	for kind, limit in (
		(resource.RLIMIT_CPU, PROCESSOR_S),
		(resource.RLIMIT_AS, MAX_MEMORY_BYTES),
		(resource.RLIMIT_FSIZE, 0),
		(resource.RLIMIT_CORE, 0),
	):
		_soft, hard = resource.getrlimit(kind)
		lower = limit if hard == resource.RLIM_INFINITY else min(limit, hard)
		resource.setrlimit(kind, (lower, lower))


if __name__ == "__main__":
	read_from_stdin(sys.argv[1])
