"""Malicious texts and files are read in bounded processor time and memory."""

import io
import re
import resource
import unittest
import zipfile
from concurrent.futures import ProcessPoolExecutor

from docx import Document
from openpyxl import Workbook

from huf.ai.core.errors import UsageError
from huf.ai.core.secret_text import mask_secrets
from huf.ai.core.text_decoding import read_addresses
from huf.ai.knowledge import reader_process
from huf.ai.knowledge.chunking import split_into_chunks, split_markdown
from huf.ai.knowledge.reader_process import MAX_MEMORY_BYTES, PROCESSOR_S, convert_html, read_file
from huf.ai.mail.crisp import strip_markup
from huf.ai.mail.html_text import html_to_text, strip_unconverted_html
from huf.ai.mail.message import parse_message
from huf.ai.mail.quoting import extract_new_text
from huf.ai.providers.masking import Masker
from huf.ai.providers.response_guard import ResponseGuard
from huf.ai.providers.text_tool_calls import parse_calls
from huf.ai.setup.agent_import import parse_export
from huf.tests.forks import FORKS
from huf.tests.measuring import assert_bounded, time_thread

TOOLS = {"get_list": {"type": "object", "properties": {"doctype": {"type": "string"}}}}
CHARS = 30_000
UNITS = """
# |#|<|>|<a|<p>|<td>|<table>|<style>|<style x="|<script |```x|~~~x|[|![|[a](|[a](mailto:|(|{|"|'|**|-|=|@|a@|a.a@|1-|+1 |A1|a:|\\|
&amp;|<tool_call>|<function=a>|<parameter=a>|<arg_key>|Action: |functions.|functools[|[TOOL_CALLS]|<think>|`|
{"tool": "|"name": "|password="|message from |a wrote |On x wrote: |Bearer |[A_|=?utf-8?q?
""".replace("\n", "").split("|")


def guard(text: str) -> None:
	for size in (16, len(text)):
		found = ResponseGuard(TOOLS, [].append, [].append)
		for start in range(0, len(text), size):
			found.feed(text[start : start + size])
		found.finish()


def parse_mail(text: str) -> None:
	line = text.replace("\n", " ").encode()
	parse_message(b"From: " + line + b"\nSubject: " + line + b"\n\n" + line)
	parse_message(b"Content-Type: text/html\n\n" + line)


READERS = {
	"markdown": lambda text: list(split_into_chunks(split_markdown(text))),
	"quotes": extract_new_text,
	"crisp": strip_markup,
	"html": convert_html,
	"tags": strip_unconverted_html,
	"html mail": html_to_text,
	"addresses": read_addresses,
	"mail": parse_mail,
	"masking": Masker().mask,
	"secrets": mask_secrets,
	"response guard": guard,
	"calls as text": lambda text: parse_calls(text, TOOLS, marked=True),
}


class TestTexts(unittest.TestCase):
	def test_code_that_python_parses_slowly_is_refused(self):
		literal = 'f"' + "{1}" * 100_000 + '"'

		def read_both():
			self.assertEqual(parse_calls(f"[look(a={literal})]", TOOLS, marked=True), [])
			self.assertRaises(UsageError, parse_export, f"text = {literal}")

		self.assertLess(time_thread(read_both), 10)

	def test_repetitive_text_is_processed_in_bounded_time(self):
		for reader, read in READERS.items():
			for unit in UNITS:
				for first, between, last in (("", "", "!"), ("a", " ", "!"), ("", "\n", "")):

					def text_of(chars, first=first, part=unit + between, last=last):
						return first + part * (chars // len(part)) + last

					with self.subTest(reader, text=text_of(20), last=last):
						assert_bounded(self, read, text_of, CHARS)


def measure_reading(name: str, content: bytes) -> tuple[str, float, int]:
	"""Read a file; returns (error message or "", processor seconds and peak bytes of the child process)."""
	refused = ""
	try:
		read_file(name, content)
	except UsageError as error:
		refused = str(error)
	used = resource.getrusage(resource.RUSAGE_CHILDREN)
	return refused, used.ru_utime + used.ru_stime, used.ru_maxrss * 1024


class TestFiles(unittest.TestCase):
	def read_within_limits(self, name: str, content: bytes) -> str:
		"""Read or refuse a file, with the error message; the child process stays within its limits."""
		# getrusage reports the largest child, so a new process, which has no other children, measures it.
		with ProcessPoolExecutor(1, FORKS) as process:
			refused, seconds, memory = process.submit(measure_reading, name, content).result()
		self.assertRegex(refused, "^$|too much time or memory|too large|could not be read")
		self.assertLess(seconds, PROCESSOR_S + 2)
		self.assertLess(memory, MAX_MEMORY_BYTES)
		return refused

	def test_many_short_sections_below_long_titles_take_bounded_memory(self):
		titles = "".join(f"{'#' * level} {'x' * 40_000}\n" for level in range(1, 6))
		text = titles + "###### a\n" * 2_000 + "# b\n" * 20_000
		parts = read_file("bomb.md", text.encode())
		self.assertLess(sum(len(part.heading) for part in parts), 20_000_000)
		self.assertEqual("".join(part.text for part in parts), text)
		self.assertLess(len(parts), 20_000)

	def test_a_small_document_that_unpacks_to_a_large_one_is_refused(self):
		document, out = Document(), io.BytesIO()
		document.save(out)
		with zipfile.ZipFile(out) as package:
			members = {name: package.read(name) for name in package.namelist()}
		paragraphs = b"<w:p><w:r><w:t>a</w:t></w:r></w:p>" * 3_000_000
		body = re.sub(rb"<w:body>", lambda found: found[0] + paragraphs, members["word/document.xml"])
		content = pack({**members, "word/document.xml": body})
		self.assertLess(len(content), 1_000_000)
		self.assertRegex(self.read_within_limits("bomb.docx", content), "takes too much time or memory")

	def test_a_small_workbook_that_unpacks_to_a_large_one_keeps_to_the_limits(self):
		book, out = Workbook(), io.BytesIO()
		book.active["A1"] = 1
		book.save(out)
		with zipfile.ZipFile(out) as package:
			members = {name: package.read(name) for name in package.namelist()}
		rows = b"<row>" + b"<c><v>1</v></c>" * 1_000_000 + b"</row>"
		sheet = re.sub(rb"<sheetData>", lambda found: found[0] + rows, members["xl/worksheets/sheet1.xml"])
		content = pack({**members, "xl/worksheets/sheet1.xml": sheet})
		self.assertLess(len(content), 1_000_000)
		self.read_within_limits("bomb.xlsx", content)

	def test_a_reader_process_above_its_timeout_is_stopped(self):
		default = reader_process.TIMEOUT_S
		self.addCleanup(setattr, reader_process, "TIMEOUT_S", default)
		reader_process.TIMEOUT_S = 0.01
		with self.assertRaisesRegex(UsageError, "too much time"):
			read_file("a.pdf", b"%PDF-1.4")

	def test_the_reader_process_gets_no_secrets_from_the_environment(self):
		import os
		from unittest import mock

		with (
			mock.patch.dict(os.environ, {"HUF_ENCRYPTION_KEY": "secret"}),
			mock.patch.object(reader_process.subprocess, "run", side_effect=RuntimeError) as run,
			self.assertRaises(RuntimeError),
		):
			read_file("a.pdf", b"")
		self.assertNotIn("HUF_ENCRYPTION_KEY", run.call_args.kwargs["env"])


def pack(members: dict[str, bytes]) -> bytes:
	out = io.BytesIO()
	with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as package:
		for name, content in members.items():
			package.writestr(name, content)
	return out.getvalue()
