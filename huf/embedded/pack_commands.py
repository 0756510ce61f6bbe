"""The commands `huf import`, `huf remove`, `huf export` and `huf packs`: packs, and mail rules as a file."""

from pathlib import Path

import click

from huf.embedded.cli import cli, connected
from huf.embedded.mail_commands import export_rules, import_rules


@cli.command("import")
@click.argument("what", metavar="PACK")
@click.pass_obj
def import_pack(home, what):
	"""Install a pack, or update it: a shipped one's name, or a folder.

	A YAML file is taken for mail rules and agent profiles.
	"""
	with connected(home) as frappe:
		from huf.ai.errors import UsageError
		from huf.ai.packs.install import install, tell
		from huf.ai.packs.shipped import find_pack, source_of

		path = Path(what)
		try:
			if path.is_file():
				click.echo(import_rules(frappe, path))
			else:
				report = install(source_of(path) if path.is_dir() else find_pack(what))
				click.echo("\n".join(tell(report)))
		except (UsageError, frappe.ValidationError) as error:
			raise click.ClickException(f"{what}: {error}") from None


@cli.command()
@click.argument("pack")
@click.option("--with-records", is_flag=True, help="Also what people made with it.")
@click.pass_obj
def remove(home, pack, with_records):
	"""Take a pack away again, with its tables."""
	with connected(home):
		from huf.ai.errors import UsageError
		from huf.ai.packs.removing import remove

		try:
			click.echo("\n".join(remove(pack, with_records)))
		except UsageError as error:
			hint = "" if with_records else "\nWith --with-records they are deleted."
			raise click.ClickException(f"{error}{hint if 'People made' in str(error) else ''}") from None


@cli.command()
@click.pass_obj
def packs(home):
	"""List the packs there are, and those installed."""
	with connected(home):
		from huf.ai.packs.listing import list_packs

		for each in list_packs():
			state = f"installed {each['installed']}" if each["installed"] else "not installed"
			click.echo(f"{each['name']:16} {each['version'] or '-':8} {state:18} {each['title']}")


@cli.command("export")
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path), required=False)
@click.pass_obj
def export_file(home, file):
	"""Write rules and agents to FILE and the prompts beside it, or show the rules."""
	with connected(home):
		said = export_rules(file)
	click.echo(said, nl=bool(file))
