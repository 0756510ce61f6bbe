"""Fails where a name or a text uses a private word for which the field has a standard one (shared vocabulary,
AGENTS.md).

Names are checked by their parts (`told_of`, `GateKeeper`), texts (docstrings, comments, string literals,
Markdown) by phrases. Usage: python scripts/words.py [PATH ...]
"""

import io
import re
import subprocess
import sys
import tokenize
from collections.abc import Iterator
from pathlib import Path

NAME_PARTS = {
	"door": "entry point, endpoint, trigger",
	"doors": "entry points",
	"told": "emitted, described, message",
	"said": "output, message",
	"shown": "preview, displayed",
	"brought": "attachments",
	"wish": "request",
	"retell": "replay",
	"retelling": "replayed events",
	"retold": "replayed",
	"gate": "dry run",
	"gated": "dry run",
	"trial": "dry run",
	"trials": "dry runs",
	"touched": "changes",
	"hearing": "transcription",
	"letters": "outgoing mail",
	"finding": "search",
	"lent": "borrowed",
	"ladder": "tiers",
	"climb": "escalate",
	"firing": "dispatch",
	"firings": "trigger events",
	"observation": "tool result",
	"observations": "tool results",
	"most": "max",
	"fewest": "min",
	"longest": "max ... chars",
	"enough": "a threshold with its unit",
	"soon": "a time-out with its unit",
	"deepest": "max depth",
	"whoever": "the caller",
}
STANDARD_NAMES = {"call_soon_threadsafe", "most_common"}
"""Names of the standard library."""
PHRASES = {
	r"gives (?!up|way)": "returns",
	r"(?<!there )is (?-i:none)\b(?! of)": "is not a ...",
	r"whoever": "the caller",
	r"so many (?!as)": "N",
	r"of no run": "outside a run",
	r"by hand": "manual",
	r"way in\b": "entry point",
	r"ways? in(?:to)? huf": "entry point",
	r"doors?": "entry point",
	r"(?:is|are|be|was|were) told": "receives, is shown, is logged",
	r"retold|retelling": "replayed",
	r"at work": "running",
	r"left behind": "abandoned",
	r"two homes|both homes|embedded home|(?:which|this|that) home": "runtime",
	r"(?:is|was|be|been) lent": "borrowed",
	r"(?<!\")observations?(?!\")": "tool result",
}
PHRASE = re.compile("|".join(rf"\b(?:{each})" for each in PHRASES), re.IGNORECASE)
PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
SUFFIXES = {".py", ".md"}


def main(paths: list[str]) -> int:
	listing = ["git", "ls-files", "--cached", "--others", "--exclude-standard", *paths]
	names = subprocess.run(listing, capture_output=True, text=True, check=True).stdout.splitlines()
	found = 0
	for path in map(Path, names):
		if path.suffix in SUFFIXES and path.exists() and not is_left_out(path):
			for line, words in findings(path):
				found += 1
				print(f"{path}:{line}: {words}")
	print(
		f"{found} places with words that a stranger would not find in the field's documentation",
		file=sys.stderr,
	)
	return min(found, 1)


def is_left_out(path: Path) -> bool:
	"""Tests quote what people and models write; the list itself names the words."""
	return "tests" in path.parts or path.name in ("words.py", "CHANGELOG.md") or path.name.startswith("test_")


def findings(path: Path) -> Iterator[tuple[int, str]]:
	text = path.read_text(encoding="utf-8")
	if path.suffix == ".md":
		for number, line in enumerate(text.splitlines(), 1):
			yield from in_text(number, line)
		return
	for token in tokenize.generate_tokens(io.StringIO(text).readline):
		number = token.start[0]
		if token.type == tokenize.NAME:
			yield from in_name(number, token.string)
		elif token.type in (tokenize.STRING, tokenize.COMMENT):
			for offset, line in enumerate(token.string.splitlines()):
				yield from in_text(number + offset, line)


def in_name(number: int, name: str) -> Iterator[tuple[int, str]]:
	if name in STANDARD_NAMES:
		return
	for part in PART.findall(name):
		if part.lower() in NAME_PARTS:
			yield number, f"name {name!r}: {part.lower()} -> {NAME_PARTS[part.lower()]}"


def in_text(number: int, line: str) -> Iterator[tuple[int, str]]:
	for match in PHRASE.finditer(line):
		yield number, f"text {line.strip()[:100]!r}: {match[0]!r}"


if __name__ == "__main__":
	sys.exit(main(sys.argv[1:]))
