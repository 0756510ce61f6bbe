"""Built-in patterns in four languages with the route and the tool they indicate: `patterns.yaml`.

Matched by `heuristics.find_match`.
"""

from dataclasses import dataclass
from functools import cache
from pathlib import Path

import yaml

from huf.ai.routing.types import Route

PATTERNS_FILE = Path(__file__).with_name("patterns.yaml")
SURE = 0.95
"""A row for the chat with this confidence counts whatever else the message contains."""


@dataclass(frozen=True)
class Pattern:
	"""`language` is a code or "" for all, `reason` a key of `texts.json` or a text, `need` a tool or ""."""

	language: str
	pattern: str
	route: Route
	need: str
	confidence: float
	reason: str


@cache
def read_builtin_patterns() -> tuple[Pattern, ...]:
	table = yaml.safe_load(PATTERNS_FILE.read_text(encoding="utf-8"))
	return tuple(
		Pattern(
			"" if language == "any" else language,
			expand_parts(pattern, table["parts"]),
			Route(group["route"]),
			group.get("need", ""),
			group["confidence"],
			group["reason"],
		)
		for group in table["groups"]
		for row in group["patterns"]
		for language, pattern in row.items()
	)


def expand_parts(pattern: str, parts: dict[str, str]) -> str:
	for name, part in parts.items():
		pattern = pattern.replace(f"<{name}>", part)
	return pattern
