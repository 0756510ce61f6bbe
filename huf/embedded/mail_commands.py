"""The command `huf mail`, and rules and agents as a file for `huf import` and `huf export`."""

import mailbox
import sys
from collections.abc import Iterator
from email.parser import BytesHeaderParser
from pathlib import Path

import click

from huf.embedded.cli import cli, connected
from huf.embedded.text_files import read_text

HEADERS = ("from", "to", "subject", "date", "message-id", "received", "return-path")
"""A file with none of these is not a mail."""


def import_rules(frappe, file: Path) -> str:
	"""Import the routing rules and agent profiles of a file. Returns the lines to print."""
	from huf.ai.mail.import_export import import_config

	done = import_config(read_text(file), lambda path: find_prompt(file, path))
	lines = [f"Agents: {', '.join(done.agents) or 'none'}. Rules: {', '.join(done.rules) or 'none'}."]
	for name, other in done.unreachable.items():
		lines.append(f"Warning: {name} never fires: {other} takes its mail first.")
	return "\n".join(lines)


def find_prompt(file: Path, path: str) -> str:
	"""A prompt's file: beside the configuration, in the folder above it, or in the working directory."""
	places = [file.resolve().parent, file.resolve().parent.parent, Path.cwd()]
	found = next((place / path for place in places if (place / path).is_file()), places[0] / path)
	return read_text(found).strip()


def export_rules(file: Path | None) -> str:
	"""Write rules and agents to a file and the prompts beside it; returns the lines to print, without a file
	the rules.
	"""
	from huf.ai.mail.import_export import export_config

	text, prompts = export_config()
	if not file:
		return text
	write_files(file.parent, {file.name: text, **prompts})
	return f"Wrote {', '.join([file.name, *prompts])} to {file.parent.resolve()}."


def write_files(folder: Path, files: dict[str, str]) -> None:
	for path, words in files.items():
		target = folder / path
		if not target.resolve().is_relative_to(folder.resolve()):
			raise click.ClickException(f"{path} would lead out of {folder}. Rename the agent or the rule.")
		target.parent.mkdir(parents=True, exist_ok=True)
		target.write_text(words.rstrip("\n") + "\n", encoding="utf-8")


@cli.command("mail")
@click.argument("path", type=click.Path(exists=True, path_type=Path))
@click.option("--mailbox", "name", help="The Agent Mailbox; optional if there is only one.")
@click.pass_obj
def bring_mail(home, path, name):
	"""Import mail: an .eml file, a folder of them, or an mbox."""
	with connected(home) as frappe:
		from huf.ai.mail.intake import ingest_raw

		name = name or only_mailbox(frappe)
		new = known = 0
		refused: list[Path] = []
		for raw in read_mails(path, refused):
			is_new = ingest_raw(name, raw)[1]
			frappe.db.commit()
			new, known = new + is_new, known + (not is_new)
	for file in refused:
		click.echo(f"{file} is not a mail: it has no header such as From or Date.", err=True)
	click.echo(f"{new} new in {name}, {known} known before.")
	if refused:
		sys.exit(1)


def only_mailbox(frappe) -> str:
	names = frappe.get_all("Agent Mailbox", pluck="name", order_by="name asc")
	if not names:
		raise click.ClickException("There is no mailbox yet. Create one in the web app under Mail.")
	if len(names) > 1:
		raise click.ClickException(f"Choose one with --mailbox. Mailboxes: {', '.join(names)}.")
	return names[0]


def begins_like_mbox(path: Path) -> bool:
	with path.open("rb") as file:
		return file.read(5) == b"From "


def read_mails(path: Path, refused: list[Path]) -> Iterator[bytes]:
	"""The mails of a file or folder. Files that are not mails are added to `refused`."""
	if path.is_file() and begins_like_mbox(path):
		box = mailbox.mbox(path, create=False)
		yield from (box.get_bytes(key) for key in box.iterkeys())
		return
	for file in sorted(path.rglob("*.eml")) if path.is_dir() else [path]:
		raw = file.read_bytes()
		if any(name.lower() in HEADERS for name in BytesHeaderParser().parsebytes(raw)):
			yield raw
		else:
			refused.append(file)
