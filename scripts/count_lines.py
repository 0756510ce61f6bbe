"""Counts lines of code per package, without tests, blank lines, comments and docstrings.

Usage: python scripts/count_lines.py huf/ai huf/embedded
"""

import ast
import io
import sys
import tokenize
from collections import Counter
from pathlib import Path

NOT_CODE = {
	tokenize.COMMENT,
	tokenize.NL,
	tokenize.NEWLINE,
	tokenize.INDENT,
	tokenize.DEDENT,
	tokenize.ENDMARKER,
}


def count_code(text: str) -> int:
	lines: set[int] = set()
	for token in tokenize.generate_tokens(io.StringIO(text).readline):
		if token.type not in NOT_CODE:
			lines.update(range(token.start[0], token.end[0] + 1))
	return len(lines - docstring_lines(text))


def docstring_lines(text: str) -> set[int]:
	"""Lines of strings that stand alone: docstrings, and those below constants."""
	return {
		line
		for node in ast.walk(ast.parse(text))
		if isinstance(node, ast.Expr)
		and isinstance(node.value, ast.Constant)
		and isinstance(node.value.value, str)
		for line in range(node.lineno, node.end_lineno + 1)
	}


def main(folders: list[str]) -> None:
	for folder in folders:
		counts: Counter[str] = Counter()
		for path in sorted(Path(folder).rglob("*.py")):
			if "tests" not in path.parts and "node_modules" not in path.parts:
				counts[str(path.parent)] += count_code(path.read_text(encoding="utf-8"))
		for name, count in sorted(counts.items(), key=lambda item: -item[1]):
			print(f"{count:6} {name}")
		print(f"{sum(counts.values()):6} {folder} in all")


if __name__ == "__main__":
	main(sys.argv[1:] or ["huf/ai", "huf/api", "huf/embedded"])
