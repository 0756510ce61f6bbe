"""Reads files that a command was given."""

from pathlib import Path

import click


def read_text(path: Path) -> str:
	"""The text of a file. Raises ClickException if it is not UTF-8."""
	try:
		return path.read_text(encoding="utf-8")
	except UnicodeDecodeError:
		raise click.ClickException(f"{path} is not text in UTF-8.") from None
