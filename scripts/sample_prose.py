"""Draws docstrings, comments and messages of the product at random, to be read aloud.

Usage: python scripts/sample_prose.py SEED [COUNT]
"""

import io
import random
import subprocess
import sys
import tokenize
from collections.abc import Iterator
from pathlib import Path

MIN_WORDS = 5


def main(seed: int, count: int = 40) -> None:
	listing = ["git", "ls-files", "huf/*.py", "scripts/*.py"]
	files = subprocess.run(listing, capture_output=True, text=True, check=True).stdout.splitlines()
	product = [name for name in files if "/tests/" not in name and "/test_" not in name]
	texts = [(name, *each) for name in product for each in read_texts(Path(name))]
	for name, line, text in random.Random(seed).sample(texts, count):  # noqa: S311 (a sample)
		print(f"{name}:{line}\n    {text}")


def read_texts(path: Path) -> Iterator[tuple[int, str]]:
	"""Comments, and strings of several words, each with its line."""
	source = path.read_text(encoding="utf-8")
	for token in tokenize.generate_tokens(io.StringIO(source).readline):
		if token.type in (tokenize.COMMENT, tokenize.STRING) and len(token.string.split()) >= MIN_WORDS:
			yield token.start[0], " ".join(token.string.split())


if __name__ == "__main__":
	main(int(sys.argv[1]), int((sys.argv[2:] or ["40"])[0]))
