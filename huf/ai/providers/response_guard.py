"""Filters local models' answers: tool calls written as text become calls, and reasoning is removed.

An answer streams through a ResponseGuard, which holds back text that may become a call until that is decided.
Text is released without loss or duplication, and the result does not depend on how the answer was cut into
chunks. Pure. `text_call_formats` says where calls may begin, `text_tool_calls` parses them.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, field

from huf.ai.providers.text_call_formats import (
	ACTION,
	ACTION_INPUT,
	ACTION_LINE,
	BEFORE_CALLS,
	BETWEEN_CALLS,
	CALL_LANGUAGES,
	CALL_MARKERS,
	CALL_OFFSETS,
	FENCE,
	FENCE_END,
	FENCE_START,
	FIRST_KEY,
	INVENTED_RESULT_MARKERS,
	MAX_PARTIAL_OPENER_CHARS,
	NAME_PREFIXES,
	OPENER,
	PARTIAL_OPENERS,
	TEXT_VALUE,
	THINKING_MARKERS,
	BracketTracker,
)
from huf.ai.providers.text_tool_calls import (
	CALL_KEYS,
	NAME_KEYS,
	TextCall,
	ToolSchemas,
	find_tool_name,
	parse_calls,
)

PIECE_CHARS = 2_000
MAX_PENDING_CHARS = 200_000
"""Longer text is decided without waiting for more: no call is that long."""
NAME_START = re.compile(r"[\w.-]*")


class NeedsMoreText(Exception):
	"""The pending text cannot be decided before more text arrives."""


@dataclass(frozen=True)
class ReadResult:
	"""The first `length` pending characters are these calls, or plain text if there are none."""

	length: int
	calls: list[TextCall] = field(default_factory=list)


class ResponseGuard:
	"""Filters a streamed answer. `on_text` receives the text for readers, `on_reasoning` the reasoning;
	`calls` are the calls found.

	`text` is everything released so far, `raw` everything received.
	"""

	def __init__(
		self, tools: ToolSchemas, on_text: Callable[[str], None], on_reasoning: Callable[[str], None]
	):
		self.tools, self.on_text, self.on_reasoning = tools, on_text, on_reasoning
		self.calls: list[TextCall] = []
		self.released: list[str] = []
		self.received: list[str] = []
		self.pending = ""
		# A long call may come in pieces of a few characters: it is not read again before it has grown by a
		# sixteenth.
		self.next_length = 0
		self.space = ""
		self.quoted = ""
		self.brackets = BracketTracker()
		self.after_call = self.in_invented_result = False
		self.line_end = "\n"

	@property
	def text(self) -> str:
		return "".join(self.released)

	@property
	def raw(self) -> str:
		return "".join(self.received)

	def feed(self, text: str) -> None:
		self.received.append(text)
		for start in range(0, len(text), PIECE_CHARS):
			self.pending += text[start : start + PIECE_CHARS]
			if len(self.pending) >= self.next_length:
				self.process(ended=len(self.pending) > MAX_PENDING_CHARS)
				self.next_length = len(self.pending) + len(self.pending) // 16

	def finish(self) -> None:
		"""Decide on the pending text at the end of the answer."""
		self.process(ended=True)
		if self.space and not self.after_call:
			self.emit(self.space)
		self.space = ""

	def process(self, ended: bool) -> None:
		while self.pending:
			if self.in_invented_result:
				self.pending = ""
				return
			try:
				self.pass_quoted(ended) if self.quoted else self.scan(ended)
			except NeedsMoreText:
				return

	def scan(self, ended: bool) -> None:
		"""Release text up to a possible call, and handle that."""
		opener = OPENER.search(self.pending)
		start = opener.start() if opener else len(self.pending)
		# A longer opener may begin before the end, or be an extension of the one that was found.
		if not ended and (begins := find_partial_opener(self.pending)) is not None and begins <= start:
			self.release(begins)
			raise NeedsMoreText
		self.release(start)
		if opener:
			self.handle_opener(opener[0], ended)

	def handle_opener(self, opener: str, ended: bool) -> None:
		first = not self.released or self.after_call
		if opener in THINKING_MARKERS:
			return self.read_thinking(opener, ended) if first else self.release(len(opener))
		if opener in INVENTED_RESULT_MARKERS:
			self.in_invented_result = self.after_call
			return self.release(len(opener))
		result = self.read(opener, ended)
		if not result.calls:
			return self.release(result.length)
		self.calls += result.calls
		self.remove(result.length)

	def read(self, opener: str, ended: bool) -> ReadResult:
		if opener in CALL_MARKERS:
			return self.read_marked(opener, ended)
		if opener == FENCE:
			return self.read_fence(ended)
		if opener == ACTION:
			return self.read_action(ended)
		if opener == "`":
			self.quoted = "`"
			return ReadResult(1)
		return self.read_bare(ended)

	def read_marked(self, opener: str, ended: bool) -> ReadResult:
		closer = re.compile(CALL_MARKERS[opener]).search(self.pending, len(opener))
		if not closer and not ended:
			raise NeedsMoreText
		last, end = closer.span() if closer else (len(self.pending), len(self.pending))
		body = self.pending[CALL_OFFSETS.get(opener, len(opener)) : last]
		return ReadResult(end, parse_calls(body, self.tools, marked=True))

	def read_fence(self, ended: bool) -> ReadResult:
		info = match_start(FENCE_START, self.pending)
		begin = info.end()
		if begin == len(self.pending) and not ended:
			raise NeedsMoreText
		language = info[1].lower()
		is_open = language in CALL_LANGUAGES and self.may_begin(
			self.pending[begin:], CALL_LANGUAGES[language], ended
		)
		if not is_open:
			self.quoted = FENCE
			return ReadResult(len(FENCE))
		end = FENCE_END.search(self.pending, begin)
		if not end and not ended:
			raise NeedsMoreText
		body = self.pending[begin : end.start() if end else len(self.pending)]
		calls = parse_calls(body, self.tools, CALL_LANGUAGES[language])
		return ReadResult(end.end() if end else len(self.pending), calls)

	def read_bare(self, ended: bool) -> ReadResult:
		"""Read a bare object or list in the text."""
		if not self.may_begin(self.pending, False, ended):
			if (key := FIRST_KEY.match(self.pending)) and key[2]:
				# Another object; nothing inside it is a call either.
				self.quoted, self.brackets = "{", BracketTracker()
				return ReadResult(0)
			# If no call begins after several brackets, none begins after fewer.
			brackets = len(self.pending) - len(self.pending.lstrip("[ \t\r\n"))
			return ReadResult(max(1, brackets))
		end = self.brackets.closing(self.pending)
		if end is None and not ended:
			raise NeedsMoreText
		end = end or len(self.pending)
		return ReadResult(end, parse_calls(self.pending[:end], self.tools, marked=False))

	def read_action(self, ended: bool) -> ReadResult:
		"""Read `Action: name`, then `Action Input: {…}`; or `Action:` before an object or a fence."""
		if not self.begins_line():
			return ReadResult(len(ACTION))
		if before := BEFORE_CALLS.match(self.pending):
			return self.read_after_action(before.end(), ended)
		step = match_start(ACTION_LINE, self.pending)
		name = step[1].strip(" *`\"'")
		if not self.may_be_name(name, closed=bool(step[2])):
			return ReadResult(len(ACTION))
		if not step[2] and not ended:
			raise NeedsMoreText
		given = ACTION_INPUT.match(self.pending, step.end())
		if given:
			is_cut = given.end() == len(self.pending)
		else:
			is_cut = "Action Input".startswith(self.pending[step.end() :].strip(" \n*"))
		if is_cut and not ended:
			raise NeedsMoreText
		if not given:
			return ReadResult(len(ACTION))
		body = self.pending[given.end() :]
		if body.startswith("{"):
			end = BracketTracker().closing(body)
		else:
			end = body.find("\n") if "\n" in body else None
		if end is None and not ended:
			raise NeedsMoreText
		end = len(body) if end is None else end
		call = (find_tool_name(name, self.tools) or name, body[:end].strip() or "{}")
		return ReadResult(given.end() + end, [call])

	def read_after_action(self, begin: int, ended: bool) -> ReadResult:
		opener = OPENER.match(self.pending, begin)
		if not ended and (not opener or opener[0] == "`"):
			raise NeedsMoreText
		whole, self.pending = self.pending, self.pending[begin:]
		try:
			result = self.read(opener[0], ended) if opener else ReadResult(0)
		finally:
			self.pending = whole
		if result.calls:
			return ReadResult(begin + result.length, result.calls)
		self.quoted = ""
		return ReadResult(len(ACTION))

	def may_begin(self, text: str, marked: bool, ended: bool) -> bool:
		"""Whether a text may be the beginning of calls. Raises NeedsMoreText if it is too short to decide."""
		text = text.lstrip("[ \t\r\n")
		if not text:
			return self.wait_or_refuse(ended)
		if text[0] == "<":
			return True
		if text[0] != "{":
			name = match_start(NAME_START, text)[0]
			return self.may_be_name(name, closed=len(name) < len(text)) or (
				marked and "print".startswith(name)
			)
		key = match_start(FIRST_KEY, text)
		if not key[2] and key.end() == len(text):
			return self.wait_or_refuse(ended)
		if not key[3]:
			return (
				key.end() == len(text)
				and any(one.startswith(key[2]) for one in CALL_KEYS)
				and self.wait_or_refuse(ended)
			)
		if key[2] not in CALL_KEYS:
			return False
		value = TEXT_VALUE.match(text, key.end())
		return key[2] not in NAME_KEYS or not value or self.may_be_name(value[2], closed=bool(value[3]))

	def wait_or_refuse(self, ended: bool) -> bool:
		if not ended:
			raise NeedsMoreText
		return False

	def may_be_name(self, name: str, closed: bool) -> bool:
		names = (f"{package}{tool}" for tool in self.tools for package in NAME_PREFIXES)
		if closed:
			return name.removesuffix(".call") in names
		return any(one.startswith(name) for one in names)

	def begins_line(self) -> bool:
		return (self.line_end + self.space).rstrip(" \t*#").endswith("\n")

	def pass_quoted(self, ended: bool) -> None:
		"""Release everything up to the end of code or of an object that is not a call."""
		if self.quoted == "{":
			end = self.brackets.closing(self.pending)
			keep = 0 if ended or end else len(self.pending) - self.brackets.at
		else:
			closer = re.compile("`|\n" if self.quoted == "`" else FENCE).search(self.pending)
			end = closer.end() if closer else None
			keep = (
				0 if ended or end or self.quoted == "`" else len(self.pending) - len(self.pending.rstrip("`"))
			)
		self.release(end or len(self.pending) - keep)
		# The scanned text is released, so the tracker continues at the beginning of the rest.
		self.brackets.at = 0
		if keep:
			raise NeedsMoreText
		if end:
			self.quoted = ""

	def release(self, length: int) -> None:
		"""Release characters; trailing space is held until more text follows."""
		text, self.pending = self.pending[:length], self.pending[length:]
		if length:
			self.brackets = self.brackets if self.quoted == "{" else BracketTracker()
		if self.in_invented_result:
			return
		if self.after_call:
			text = BETWEEN_CALLS.sub("", text)
		if not text:
			return
		self.after_call = False
		text = self.space + text
		seen = text.rstrip()
		self.space = text[len(seen) :]
		if seen:
			self.emit(seen)

	def emit(self, text: str) -> None:
		self.released.append(text)
		self.line_end = (self.line_end + text)[-MAX_PARTIAL_OPENER_CHARS:]
		self.on_text(text)

	def remove(self, length: int) -> None:
		self.pending, self.after_call, self.brackets = self.pending[length:], True, BracketTracker()
		# Keep the text before and after the removed part apart.
		self.space = (self.space or "\n") if self.released else ""

	def read_thinking(self, opener: str, ended: bool) -> None:
		closer, start = THINKING_MARKERS[opener], len(opener)
		end = self.pending.find(closer, start)
		if end < 0 and not ended:
			# Only the rest is searched again, together with what follows it.
			known = max(start, len(self.pending) + 1 - len(closer))
			self.on_reasoning(self.pending[start:known])
			self.pending = opener + self.pending[known:]
			raise NeedsMoreText
		self.on_reasoning(self.pending[start : len(self.pending) if end < 0 else end])
		self.remove(len(self.pending) if end < 0 else end + len(closer))


def match_start(pattern: re.Pattern[str], text: str) -> re.Match[str]:
	"""The match of a pattern that matches at the start of any text."""
	match = pattern.match(text)
	assert match is not None
	return match


def find_partial_opener(text: str) -> int | None:
	"""Where an incomplete opener begins at the end of a text, or None."""
	starts = range(max(0, len(text) - MAX_PARTIAL_OPENER_CHARS), len(text))
	return next((start for start in starts if text[start:] in PARTIAL_OPENERS), None)
