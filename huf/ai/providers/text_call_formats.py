"""Formats of tool calls written as text: markers that open and close them, and a tracker of brackets."""

import re

CALL_MARKERS = {
	"<tool_call>": r"</tool_call>",
	"<tool_calls>": r"</tool_calls>",
	"<function_call>": r"</function_call>",
	"<function_calls>": r"</function_calls>",
	"<tools>": r"</tools>",
	"<function=": r"</function>",
	"<invoke name=": r"</invoke>",
	"<|tool_call|>": r"<\|/tool_call\|>",
	"<|tool_call_start|>": r"<\|tool_call_end\|>",
	"<|tool_calls_section_begin|>": r"<\|tool_calls_section_end\|>",
	"<|python_tag|>": r"<\|eom_id\|>|<\|eot_id\|>",
	"<｜tool▁calls▁begin｜>": r"<｜tool▁calls▁end｜>",
	"[TOOL_REQUEST]": r"\[END_TOOL_REQUEST\]",
	"[TOOL_CALLS]": r"</s>",
	"functools[": r"</s>",
}
"""Markers followed only by calls, up to the closing marker or the end."""
CALL_OFFSETS = {"<function=": 0, "<invoke name=": 0, "functools[": len("functools")}
"""Where the call begins, for markers that are part of it."""
THINKING_MARKERS = {
	"<think>": "</think>",
	"<thinking>": "</thinking>",
	"<thought>": "</thought>",
	"[THINK]": "[/THINK]",
}
INVENTED_RESULT_MARKERS = ("Observation:", "<tool_response>", "[TOOL_RESULTS]")
"""Markers of tool results that the model invents."""
FENCE, ACTION = "```", "Action:"
OPENERS = (*CALL_MARKERS, *THINKING_MARKERS, *INVENTED_RESULT_MARKERS, FENCE, ACTION, "`", "{", "[")
OPENER = re.compile("|".join(map(re.escape, sorted(OPENERS, key=len, reverse=True))))
PARTIAL_OPENERS = {opener[:length] for opener in OPENERS for length in range(1, len(opener))}
MAX_PARTIAL_OPENER_CHARS = max(map(len, PARTIAL_OPENERS))
NAME_PREFIXES = ("", "functions.", "tools.", "default_api.")
CALL_LANGUAGES = {
	"": False,
	"json": False,
	"xml": False,
	"tool_call": True,
	"tool_code": True,
	"function_call": True,
}
"""Languages of fenced code that may be a call, and whether the code can only be a call."""
FENCE_START = re.compile(r"```[ \t]*(\w*)(\s*)")
FENCE_END = re.compile(r"(?:\n[ \t]*|(?<=[}\])>]))```")
FIRST_KEY = re.compile(r"""\{\s*(?:(["'])(\w*)(\1)?)?""")
TEXT_VALUE = re.compile(r"""\s*:\s*(["'])([^"']*)(["'])?""")
BEFORE_CALLS = re.compile(r"Action:\s*(?=```|\{|\[|`{0,2}$)")
ACTION_LINE = re.compile(r"Action:[ \t*]*([^\n]*)(\n?)")
BETWEEN_CALLS = re.compile(r"^[\s;,]+")
ACTION_INPUT = re.compile(r"\s*\**Action Input:?\**:?[ \t]*\n?")


class BracketTracker:
	"""Tracks brackets and strings in a growing text until the first bracket is closed."""

	TOKEN = re.compile(r"""\\.|["']|[\[{(]|[\]})]""", re.DOTALL)

	def __init__(self):
		self.at = self.depth = 0
		self.quote = ""

	def closing(self, text: str) -> int | None:
		"""The position after the closing bracket, or None while it is open."""
		for token in self.TOKEN.finditer(text, self.at):
			mark, self.at = token[0], token.end()
			if self.quote:
				self.quote = "" if mark == self.quote else self.quote
			elif mark in "\"'":
				self.quote = mark
			elif mark[0] != "\\":
				self.depth += 1 if mark in "[{(" else -1
				if self.depth == 0:
					return self.at
		self.at = len(text) - text.endswith("\\")
		return None
