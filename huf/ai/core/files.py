"""Reads a File document: its name, extension and bytes."""

from pathlib import Path, PurePath
from typing import Any

from huf.ai.core.errors import UsageError


def get_full_file_name(file: Any) -> str:
	"""The name with its extension; taken from the URL if only that has one."""
	names = [file.file_name or "", PurePath(file.file_url or "").name]
	return next((name for name in names if PurePath(name).suffix), names[0] or names[1])


def get_ending(name: str) -> str:
	"""The extension in lower case, without its dot."""
	return PurePath(name).suffix.lower().lstrip(".")


def read_file_content(file: Any) -> bytes:
	"""The bytes of a File stored on this site. Raises UsageError for a link to another server."""
	if (file.file_url or "").startswith(("http://", "https://")):
		raise UsageError(
			f"{file.file_name} is a link to another server. Add its address as a web page instead."
		)
	return read_stored_bytes(file)


def read_stored_bytes(file: Any) -> bytes:
	"""The bytes of a File, wherever an app stores them."""
	content = file.get_content()
	if isinstance(content, bytes):
		return content
	# Frappe decodes text; since version 16 it guesses the encoding and drops the byte order mark.
	path = Path(file.get_full_path())
	return path.read_bytes() if path.is_file() else content.encode()
