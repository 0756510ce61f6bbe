"""The commands `huf audit`, `huf errors`, `huf backup`, `huf restore`, `huf doctor` and `huf rotate-keys`."""

import errno
import os
import sys
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

import click

from huf.embedded import site
from huf.embedded.cli import cli, connected
from huf.embedded.server import only_server

PASSPHRASE = "HUF_BACKUP_PASSPHRASE"


def encrypting(purpose: str):
	help = f"Ask for a passphrase that {purpose} the backup; {PASSPHRASE} is used without asking."
	return click.option("--encrypted", is_flag=True, help=help)


@cli.command()
@click.option("--since", type=click.DateTime(), help="Only what happened after this time.")
@click.option("--until", type=click.DateTime(), help="Only what happened up to this time.")
@click.pass_obj
def audit(home, since, until):
	"""Print logins, changes and approvals as JSON lines."""
	import json

	with connected(home):
		from huf.ai.queries.audit import read_audit

		while entries := read_audit(since, until, is_system_manager=True):
			for entry in entries:
				click.echo(json.dumps(entry, ensure_ascii=False, default=str))
			since = datetime.fromisoformat(entries[-1]["time"])


@cli.command()
@click.option("--last", default=5, show_default=True, type=click.IntRange(1, 1000), help="How many.")
@click.pass_obj
def errors(home, last):
	"""Print the latest errors with their tracebacks, the newest at the end."""
	with connected(home) as frappe:
		fields = ["creation", "method", "error"]
		found = frappe.get_all("Error Log", fields=fields, order_by="creation desc", limit=last)
	for each in reversed(found):
		click.secho(f"{each.creation:%Y-%m-%d %H:%M:%S}  {each.method}", bold=True)
		click.echo(f"{(each.error or '').rstrip()}\n")
	if not found:
		click.echo("There are no errors.")


@cli.command()
@click.argument("file", required=False, type=click.Path(dir_okay=False, path_type=Path))
@encrypting("encrypts")
@click.pass_obj
def backup(home, file, encrypted):
	"""Write the site into one file, also while it runs."""
	from huf.embedded.backup import write_backup

	with connected(home):
		pass
	file = file or Path(f"huf-{datetime.now():%Y-%m-%d-%H%M%S}.backup")
	if file.exists():
		raise click.ClickException(f"{file} exists already. Choose another name.")
	passphrase = read_passphrase(encrypted, confirm=True)
	with naming_full_disk(file):
		size = write_backup(home, file, passphrase)
	click.echo(f"Wrote {file}, {size / 1e6:.1f} MB.")
	if not passphrase:
		click.echo(
			"It holds the site's keys in readable form: keep it as safe as the site, or use --encrypted."
		)


@cli.command()
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@encrypting("decrypts")
@click.pass_obj
def restore(home, file, encrypted):
	"""Check a backup and put it into an empty home."""
	from huf.embedded.backup import BackupFault, restore_backup

	if site.site_path(home).exists():
		raise click.ClickException(
			f"{home} has a site. Restore into another home: huf --home <folder> restore {file}"
		)
	try:
		with naming_full_disk(home):
			manifest = restore_backup(file, home, read_passphrase(encrypted, confirm=False))
	except BackupFault as error:
		raise click.ClickException(f"{file} was not restored. {error}") from None
	click.echo(f"Restored the site of {manifest['made']} (Huf {manifest['huf']}) into {home}.")


@contextmanager
def naming_full_disk(target: Path):
	"""Name the target in an error of a full disk that names no file, or first the source of a copy."""
	try:
		yield
	except OSError as error:
		if error.errno in (errno.ENOSPC, errno.EDQUOT) and (error.filename2 or not error.filename):
			error.filename = str(target)
		raise


def read_passphrase(encrypted: bool, confirm: bool) -> str | None:
	if given := os.environ.get(PASSPHRASE):
		return given
	return click.prompt("Passphrase", hide_input=True, confirmation_prompt=confirm) if encrypted else None


@cli.command()
@click.pass_obj
def doctor(home):
	"""Check disk, databases, secrets, queue, schedule, stops, mail, models and tools.

	Exits with 1 if something is wrong.
	"""
	from huf.embedded.doctor import examine

	with connected(home) as frappe:
		is_good = True
		for result in examine(frappe, home):
			click.echo(f"{'ok   ' if result.is_good else 'WRONG'}  {result.name:<12} {result.text}")
			is_good &= result.is_good
	if not is_good:
		sys.exit(1)


@cli.command("rotate-keys")
@click.pass_obj
def rotate_keys(home):
	"""Encrypt all stored secrets with a new key. Stop the server and the workers first."""
	from huf.embedded import rotation

	with connected(home) as frappe, stopped(home):
		count = rotation.rotate_keys(frappe, home)
	click.echo(f"{count} secrets are encrypted with a new key. Backups made before hold the old one.")


@contextmanager
def stopped(home: Path):
	"""While neither a server nor a worker runs, which might store a secret with the old key."""
	with only_server(home, "huf rotate-keys", "Stop it first, and start it again afterwards."):
		if running := site.list_running_workers(home):
			raise click.ClickException(f"{len(running)} `huf worker` are running. Stop them first.")
		yield
