"""The commands `huf import`, `huf remove`, `huf export` and `huf packs`: packs, and mail rules as a file."""

from collections.abc import Collection
from pathlib import Path

import click

from huf.embedded.cli import cli, connected
from huf.embedded.mail_commands import export_rules, import_rules, write_files

OPTIONAL_FILES = ("doctypes.json", "records.json", "evals.yaml")


@cli.command("import")
@click.argument("what", metavar="PACK")
@click.option("--moved", is_flag=True, help="Update a pack that was imported from another folder.")
@click.pass_obj
def import_pack(home, what, moved):
	"""Install or update a pack, given by name or folder.

	A YAML file is taken for mail rules and agent profiles.
	"""
	with connected(home) as frappe:
		from huf.ai.core.errors import UsageError
		from huf.ai.packs.install import format_report, install_pack
		from huf.ai.packs.manifest import MANIFEST_FILE
		from huf.ai.packs.shipped import find_pack, get_pack_source

		path = Path(what)
		if not path.exists() and (path.suffix or len(path.parts) > 1):
			raise click.ClickException(f"There is no file or folder {what}.")
		if path.is_dir() and not (path / MANIFEST_FILE).is_file():
			raise click.ClickException(f"{what} is not a pack: it has no {MANIFEST_FILE}.")
		try:
			if path.is_file():
				click.echo(import_rules(frappe, path))
			else:
				report = install_pack(get_pack_source(path) if path.is_dir() else find_pack(what), moved)
				click.echo("\n".join(format_report(report)))
		except (UsageError, frappe.ValidationError) as error:
			raise click.ClickException(f"{what}: {error}") from None


@cli.command()
@click.argument("pack")
@click.option("--with-records", is_flag=True, help="Also delete records that people made with it.")
@click.pass_obj
def remove(home, pack, with_records):
	"""Remove a pack with its DocTypes."""
	with connected(home):
		from huf.ai.core.errors import UsageError
		from huf.ai.packs.removing import UserRecordsLeft, remove_pack

		try:
			click.echo("\n".join(remove_pack(pack, with_records).lines))
		except UserRecordsLeft as error:
			raise click.ClickException(f"{error}\nWith --with-records they are deleted.") from None
		except UsageError as error:
			raise click.ClickException(str(error)) from None


@cli.command()
@click.pass_obj
def packs(home):
	"""List available and installed packs."""
	with connected(home):
		from huf.ai.packs.listing import list_packs

		for each in list_packs():
			state = f"installed {each['installed']}" if each["installed"] else "not installed"
			about = each["fault"] or each["title"]
			click.echo(f"{each['name']:16} {each['version'] or '-':8} {state:18} {about}")


@cli.command("export")
@click.argument("target", type=click.Path(path_type=Path), required=False)
@click.option("--agent", "agents", multiple=True, help="An agent with its tools, triggers and cases.")
@click.option("--doctype", "doctypes", multiple=True, help="A DocType made on this site.")
@click.option("--pack", help="The documents of an installed pack, as they are now.")
@click.option("--records", is_flag=True, help="Include the records of the DocTypes.")
@click.option("--version", help="The pack's version. Default: that of the folder or of --pack, else 1.0.")
@click.pass_obj
def export_things(home, target, agents, doctypes, pack, records, version):
	"""Write agents, DocTypes or an installed pack to the folder TARGET.

	Name, title, description, version and roles of a pack.yaml that is there are kept.

	With none of these, TARGET is a file for the mail rules and their agents; without it, the rules are shown.
	"""
	with connected(home) as frappe:
		if not (agents or doctypes or pack):
			return click.echo(export_rules(target), nl=bool(target))
		from huf.ai.packs.exporting import export_pack, read_about, read_pack_contents

		if not target:
			raise click.ClickException("Name the folder to write to.")
		more = read_pack_contents(pack) if pack else ((), (), ())
		wanted = [*agents, *more[0]], [*doctypes, *more[1]], more[2]
		known = read_known_manifest(target)
		about = known or (read_about(pack) if pack else {})
		name = about.get("pack") or frappe.scrub(target.resolve().name)
		chosen = {"version": version} if version else {}
		files = export_pack(name, *wanted, records, {**about, **chosen})
		refuse_left_files(target, files)
		write_files(target, files)
		click.echo(f"Wrote {', '.join(sorted(files))} to {target}.")
		if known and not version:
			click.echo(f"The version is still {known['version']}. Set a new one with --version.")


def read_known_manifest(target: Path) -> dict:
	"""The keys of the target's pack.yaml that an export keeps, or {} without such a file."""
	from huf.ai.core.errors import UsageError
	from huf.ai.packs.manifest import MANIFEST_FILE, read_manifest

	if not (target / MANIFEST_FILE).exists():
		return {}
	try:
		top = read_manifest(target)
	except UsageError as error:
		raise click.ClickException(
			f"{target} has a pack.yaml that cannot be read, and its title and version would be lost. "
			f"Correct or delete it. {error}"
		) from None
	kept = ("pack", "title", "version", "description", "roles")
	return {key: top[key] for key in kept if top.get(key)}


def refuse_left_files(target: Path, files: Collection[str]) -> None:
	"""Records of another export, say, would become part of this pack."""
	if left := [name for name in OPTIONAL_FILES if name not in files and (target / name).exists()]:
		raise click.ClickException(
			f"{target} has {', '.join(left)} of another export. Delete it, or name another folder."
		)
