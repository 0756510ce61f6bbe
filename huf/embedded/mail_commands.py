"""The commands `huf import`, `huf export` and `huf mail`: rules and agents as a file, mail brought in by hand."""

import json
import mailbox
from collections.abc import Iterator
from pathlib import Path

import click

from huf.embedded.cli import cli, connected


@cli.command("import")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.pass_obj
def import_file(home, file):
	"""Bring in routing rules and agent profiles, and a pack's DocTypes and records beside them."""
	with connected(home) as frappe:
		from huf.ai.errors import UsageError
		from huf.ai.mail_settings import import_config

		try:
			made = import_documents(frappe, file.parent)
			done = import_config(file.read_text(encoding="utf-8"), lambda path: find_prompt(file, path))
		except (UsageError, frappe.ValidationError) as error:
			raise click.ClickException(f"{file}: {error}") from None
		click.echo(
			f"Agents: {', '.join(done.agents) or 'none'}. Rules: {', '.join(done.rules) or 'none'}. New records: {made}."
		)


def import_documents(frappe, folder: Path) -> int:
	"""The documents of a pack that are not there yet; gives how many. A change of a DocType is committed with it."""
	made = 0
	for name in ("doctypes.json", "records.json"):
		values = json.loads((folder / name).read_text(encoding="utf-8")) if (folder / name).is_file() else []
		for each in values:
			key = (
				{"name": each["name"]}
				if "name" in each
				else {k: v for k, v in each.items() if k != "doctype"}
			)
			if not frappe.db.exists(each["doctype"], key):
				frappe.get_doc(each).insert()
				made += 1
	return made


def find_prompt(file: Path, path: str) -> str:
	"""A prompt's file: beside the configuration, one folder above it, or from where one stands."""
	places = [file.resolve().parent, file.resolve().parent.parent, Path.cwd()]
	found = next((place / path for place in places if (place / path).is_file()), places[0] / path)
	return found.read_text(encoding="utf-8").strip()


@cli.command("export")
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path), required=False)
@click.pass_obj
def export_file(home, file):
	"""Write rules and agents to FILE and the prompts beside it, or show the rules."""
	with connected(home):
		from huf.ai.mail_settings import export_config

		text, prompts = export_config()
	if not file:
		click.echo(text, nl=False)
		return
	for path, words in {file.name: text, **prompts}.items():
		target = file.parent / path
		target.parent.mkdir(parents=True, exist_ok=True)
		target.write_text(words.rstrip("\n") + "\n", encoding="utf-8")
	click.echo(f"Wrote {file} and {len(prompts)} prompts.")


@cli.command("mail")
@click.argument("path", type=click.Path(exists=True, path_type=Path))
@click.option("--mailbox", "name", help="The Agent Mailbox; may be left out where there is only one.")
@click.pass_obj
def bring_mail(home, path, name):
	"""Bring in mail: an .eml file, a folder of them, or an mbox."""
	with connected(home) as frappe:
		from huf.ai.agent_email import take_raw

		name = name or only_mailbox(frappe)
		new = known = 0
		for raw in read_mails(path):
			is_new = take_raw(name, raw)[1]
			frappe.db.commit()
			new, known = new + is_new, known + (not is_new)
	click.echo(f"{new} new in {name}, {known} known before.")


def only_mailbox(frappe) -> str:
	names = frappe.get_all("Agent Mailbox", pluck="name", order_by="name asc")
	if len(names) != 1:
		raise click.ClickException(f"Say which with --mailbox. There are: {', '.join(names) or 'none yet'}.")
	return names[0]


def read_mails(path: Path) -> Iterator[bytes]:
	if path.is_dir():
		for file in sorted(path.rglob("*.eml")):
			yield file.read_bytes()
	elif path.read_bytes()[:5] == b"From ":
		box = mailbox.mbox(path, create=False)
		yield from (box.get_bytes(key) for key in box.iterkeys())
	else:
		yield path.read_bytes()
