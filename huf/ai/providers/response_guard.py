"""Guards the answers of local models: a tool call written as text becomes a call, and thinking is not shown.

An answer passes through a Screen as it streams in. What may become a call is held back until it is clear;
what turns out to be text goes on, no character lost or doubled. What it lets through and what it finds do not
depend on how the text was cut into chunks. Pure; `text_call_formats` says where to look, `text_tool_calls`
reads what the Screen holds.
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
	read_calls,
)


class NeedsMoreText(Exception):
	"""What comes next decides."""


@dataclass(frozen=True)
class ReadResult:
	"""So many characters are these calls; without any calls, they are text."""

	length: int
	calls: list[TextCall] = field(default_factory=list)


class ResponseGuard:
	"""One answer on its way to the reader. `let(text)` is called with what may be seen; `calls` is what was
	found.

	`text` is all that was let through, `raw` all that came.
	"""

	def __init__(self, tools: ToolSchemas, let: Callable[[str], None]):
		self.tools, self.let = tools, let
		self.calls: list[TextCall] = []
		self.shown: list[str] = []
		self.came: list[str] = []
		self.held = ""
		self.space = ""
		self.quoted = ""
		self.brackets = BracketTracker()
		self.after_call = self.made_up = False
		self.line = "\n"

	@property
	def text(self) -> str:
		return "".join(self.shown)

	@property
	def raw(self) -> str:
		return "".join(self.came)

	def feed(self, text: str) -> None:
		self.came.append(text)
		self.held += text
		self.work(ended=False)

	def finish(self) -> None:
		"""Let go what is still held: no more will come."""
		self.work(ended=True)
		if self.space and not self.after_call:
			self.show(self.space)
		self.space = ""

	def work(self, ended: bool) -> None:
		while self.held:
			if self.made_up:
				self.held = ""
				return
			try:
				self.quote_on(ended) if self.quoted else self.look(ended)
			except NeedsMoreText:
				return

	def look(self, ended: bool) -> None:
		"""Let text through up to what may be a call, and decide on that."""
		opener = OPENER.search(self.held)
		start = opener.start() if opener else len(self.held)
		# A longer opener may begin before the end, or be the longer form of the one that is there.
		if not ended and (begins := find_partial_opener(self.held)) is not None and begins <= start:
			self.release(begins)
			raise NeedsMoreText
		self.release(start)
		if opener:
			self.decide(opener[0], ended)

	def decide(self, opener: str, ended: bool) -> None:
		first = not self.shown or self.after_call
		if opener in THINKING_MARKERS:
			return self.forget(THINKING_MARKERS[opener], ended) if first else self.release(len(opener))
		if opener in INVENTED_RESULT_MARKERS:
			self.made_up = self.after_call
			return self.release(len(opener))
		result = self.read(opener, ended)
		if not result.calls:
			return self.release(result.length)
		self.calls += result.calls
		self.drop(result.length)

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
		closer = re.compile(CALL_MARKERS[opener]).search(self.held, len(opener))
		if not closer and not ended:
			raise NeedsMoreText
		last, end = closer.span() if closer else (len(self.held), len(self.held))
		body = self.held[CALL_OFFSETS.get(opener, len(opener)) : last]
		return ReadResult(end, read_calls(body, self.tools, marked=True))

	def read_fence(self, ended: bool) -> ReadResult:
		info = FENCE_START.match(self.held)
		begin = info.end()
		if begin == len(self.held) and not ended:
			raise NeedsMoreText
		language = info[1].lower()
		is_open = language in CALL_LANGUAGES and self.may_begin(
			self.held[begin:], CALL_LANGUAGES[language], ended
		)
		if not is_open:
			self.quoted = FENCE
			return ReadResult(len(FENCE))
		end = FENCE_END.search(self.held, begin)
		if not end and not ended:
			raise NeedsMoreText
		body = self.held[begin : end.start() if end else len(self.held)]
		calls = read_calls(body, self.tools, CALL_LANGUAGES[language])
		return ReadResult(end.end() if end else len(self.held), calls)

	def read_bare(self, ended: bool) -> ReadResult:
		"""An object or a list that stands in the text by itself."""
		if not self.may_begin(self.held, False, ended):
			if FIRST_KEY.match(self.held) and FIRST_KEY.match(self.held)[2]:
				# Some other object: what is in it is not ours either.
				self.quoted, self.brackets = "{", BracketTracker()
				return ReadResult(0)
			return ReadResult(1)
		end = self.brackets.closing(self.held)
		if end is None and not ended:
			raise NeedsMoreText
		end = end or len(self.held)
		return ReadResult(end, read_calls(self.held[:end], self.tools, marked=False))

	def read_action(self, ended: bool) -> ReadResult:
		"""`Action: name`, then `Action Input: {…}`; or `Action:` before an object or a fence."""
		if not self.begins_line():
			return ReadResult(len(ACTION))
		if before := BEFORE_CALLS.match(self.held):
			return self.read_behind(before.end(), ended)
		step = ACTION_LINE.match(self.held)
		name = step[1].strip(" *`\"'")
		if not self.may_be_name(name, closed=bool(step[2])):
			return ReadResult(len(ACTION))
		if not step[2] and not ended:
			raise NeedsMoreText
		given = ACTION_INPUT.match(self.held, step.end())
		if not ended and (given is None or given.end() == len(self.held)):
			if given or "Action Input".startswith(self.held[step.end() :].strip(" \n*")):
				raise NeedsMoreText
		if not given:
			return ReadResult(len(ACTION))
		body = self.held[given.end() :]
		if body.startswith("{"):
			end = BracketTracker().closing(body)
		else:
			end = body.find("\n") if "\n" in body else None
		if end is None and not ended:
			raise NeedsMoreText
		end = len(body) if end is None else end
		return ReadResult(given.end() + end, [(find_tool_name(name, self.tools), body[:end].strip() or "{}")])

	def read_behind(self, begin: int, ended: bool) -> ReadResult:
		opener = OPENER.match(self.held, begin)
		if not ended and (not opener or opener[0] == "`"):
			raise NeedsMoreText
		whole, self.held = self.held, self.held[begin:]
		try:
			result = self.read(opener[0], ended) if opener else ReadResult(0)
		finally:
			self.held = whole
		if result.calls:
			return ReadResult(begin + result.length, result.calls)
		self.quoted = ""
		return ReadResult(len(ACTION))

	def may_begin(self, text: str, marked: bool, ended: bool) -> bool:
		"""Whether a text may be calls, as far as it goes. Raises Wait where it does not go far enough."""
		text = text.lstrip("[ \t\r\n")
		if not text:
			return self.unclear(ended)
		if text[0] == "<":
			return True
		if text[0] != "{":
			name = re.match(r"[\w.-]*", text)[0]
			return self.may_be_name(name, closed=len(name) < len(text)) or (
				marked and "print".startswith(name)
			)
		key = FIRST_KEY.match(text)
		if not key[2] and key.end() == len(text):
			return self.unclear(ended)
		if not key[3]:
			return (
				key.end() == len(text)
				and any(one.startswith(key[2]) for one in CALL_KEYS)
				and self.unclear(ended)
			)
		if key[2] not in CALL_KEYS:
			return False
		value = TEXT_VALUE.match(text, key.end())
		return key[2] not in NAME_KEYS or not value or self.may_be_name(value[2], closed=bool(value[3]))

	def unclear(self, ended: bool) -> bool:
		if not ended:
			raise NeedsMoreText
		return False

	def may_be_name(self, name: str, closed: bool) -> bool:
		names = (f"{package}{tool}" for tool in self.tools for package in NAME_PREFIXES)
		if closed:
			return name.removesuffix(".call") in names
		return any(one.startswith(name) for one in names)

	def begins_line(self) -> bool:
		return (self.line + self.space).rstrip(" \t*#").endswith("\n")

	def quote_on(self, ended: bool) -> None:
		"""Inside code or an object that is none of ours: everything goes through, up to its end."""
		if self.quoted == "{":
			end = self.brackets.closing(self.held)
			keep = 0 if ended or end else len(self.held) - self.brackets.at
		else:
			closer = re.compile("`|\n" if self.quoted == "`" else FENCE).search(self.held)
			end = closer.end() if closer else None
			keep = 0 if ended or end or self.quoted == "`" else len(self.held) - len(self.held.rstrip("`"))
		self.release(end or len(self.held) - keep)
		# What has been seen is let go, so the brackets count on from where the rest begins.
		self.brackets.at = 0
		if keep:
			raise NeedsMoreText
		if end:
			self.quoted = ""

	def release(self, length: int) -> None:
		"""Let characters through; space waits for what follows it."""
		text, self.held = self.held[:length], self.held[length:]
		if length:
			self.brackets = self.brackets if self.quoted == "{" else BracketTracker()
		if self.made_up:
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
			self.show(seen)

	def show(self, text: str) -> None:
		self.shown.append(text)
		self.line = (self.line + text)[-MAX_PARTIAL_OPENER_CHARS:]
		self.let(text)

	def drop(self, length: int) -> None:
		self.held, self.after_call, self.brackets = self.held[length:], True, BracketTracker()
		# Text before and behind what was taken out stays apart.
		self.space = (self.space or "\n") if self.shown else ""

	def forget(self, closer: str, ended: bool) -> None:
		end = self.held.find(closer)
		if end < 0 and not ended:
			raise NeedsMoreText
		self.drop(len(self.held) if end < 0 else end + len(closer))


def find_partial_opener(text: str) -> int | None:
	"""Where the end of a text may be the beginning of an opener that is not there yet."""
	starts = range(max(0, len(text) - MAX_PARTIAL_OPENER_CHARS), len(text))
	return next((start for start in starts if text[start:] in PARTIAL_OPENERS), None)
