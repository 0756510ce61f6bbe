"""The command `huf import-agent`."""

from pathlib import Path

import click

from huf.embedded.cli import cli, connected
from huf.embedded.text_files import read_text


@cli.command("import-agent")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--dry-run", "is_dry_run", is_flag=True, help="Report only; make nothing.")
@click.pass_obj
def import_agent(home, file, is_dry_run):
	"""Make agents from an export of n8n (JSON) or of OpenAI's Agent Builder (Python).

	Reports what did not map, such as tools, memory and the order of steps.
	"""
	with connected(home) as frappe:
		from huf.ai.core.errors import UsageError
		from huf.ai.setup.agent_import import import_agents

		try:
			report = import_agents(read_text(file), is_dry_run)
		except (OSError, UsageError, frappe.ValidationError, frappe.NameError) as error:
			raise click.ClickException(f"{file}: {error}") from None
		frappe.db.commit()
		click.echo("\n".join(format_report(report, is_dry_run)))


def format_report(report: dict, is_dry_run: bool) -> list[str]:
	verb = "Would make" if is_dry_run else "Made"
	lines = []
	for each in report["agents"]:
		lines.append(f"{verb} {each['name']} (model: {each['model'] or 'default'})")
		lines += [f"  not mapped: {part}" for part in each["unmapped"]]
	return lines + [f"Not mapped: {part}" for part in report["unmapped"]]
