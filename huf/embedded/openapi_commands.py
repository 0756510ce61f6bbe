"""The command `huf import-openapi`."""

from collections.abc import Sequence
from pathlib import Path

import click

from huf.embedded.cli import cli, connected
from huf.embedded.text_files import read_text


@cli.command("import-openapi")
@click.argument("source", metavar="FILE_OR_URL")
@click.option("--only", "chosen", multiple=True, help='An operation to import, such as "GET /orders".')
@click.option("--all", "is_all", is_flag=True, help="Import all that can be imported.")
@click.option("--base-url", default="", help="Instead of the document's server.")
@click.option("--prefix", default="", help="Put before the tools' names.")
@click.option(
	"--header", "headers", multiple=True, help="Name of a header with a key; its value is asked for."
)
@click.option("--replace", multiple=True, help="A tool of an earlier import that may be overwritten.")
@click.option("--allow-private", is_flag=True, help="The service has a private address.")
@click.pass_obj
def import_openapi(home, source, chosen, is_all, base_url, prefix, headers, replace, allow_private):
	"""Make tools from an OpenAPI document.

	Without --only and --all, it lists what would be made and what cannot.
	"""
	with connected(home) as frappe:
		from huf.ai.core.errors import UsageError
		from huf.ai.setup.openapi_document import PrivateDocumentAddress, fetch_text, parse_document
		from huf.ai.setup.openapi_import import import_tools, preview_import

		url = source if "://" in source else ""
		if not url and not Path(source).is_file():
			raise click.ClickException(f"There is no file {source}.")
		try:
			document = parse_document(fetch_text(url, allow_private) if url else read_text(Path(source)))
			preview = preview_import(document, url, base_url, prefix)
			if is_all:
				chosen = [each["operation"] for each in preview["tools"]]
			if not chosen:
				return click.echo("\n".join(format_preview(preview)))
			check_choice(preview["tools"], chosen, replace)
			values = {name: click.prompt(f"Value of {name}", hide_input=True) for name in headers}
			options = {"source": url, "base_url": base_url, "prefix": prefix, "headers": values}
			made = import_tools(document, chosen, **options, replace=replace, allow_private=allow_private)
		except PrivateDocumentAddress as error:
			raise click.ClickException(
				f"{error.host} is a private address. Add --allow-private if you trust it."
			) from None
		except (OSError, UsageError, frappe.ValidationError) as error:
			raise click.ClickException(f"{source}: {error}") from None
		click.echo("\n".join(map(format_made, made)))


def check_choice(tools: list[dict], chosen: Sequence[str], replace: Sequence[str]) -> None:
	"""Refuse operations that no tool can be made of, and tools that would be overwritten unnamed."""
	if unknown := set(chosen) - {each["operation"] for each in tools}:
		raise click.ClickException(
			f"Not in the document, or cannot become tools: {', '.join(sorted(unknown))}. "
			"Leave out --only to list the operations."
		)
	for each in tools:
		if each["operation"] in chosen and each["exists"] and each["tool"] not in replace:
			raise click.ClickException(
				f"The tool {each['tool']} exists. Add --replace {each['tool']}, or choose a --prefix."
			)


def format_preview(preview: dict) -> list[str]:
	lines = [f"{preview['title']}: nothing is imported yet. Choose with --only or --all."]
	for each in preview["tools"]:
		notes = ["exists"] if each["exists"] else []
		notes += ["asks first"] if each["requires_approval"] else []
		notes += [f"needs {name}" for name in each["headers"]] + [
			f"without {part}" for part in each["left_out"]
		]
		lines.append(f"  {each['operation']}  {each['tool']}  {each['effect']}  {', '.join(notes)}".rstrip())
	return lines + [f"  {each['operation']}  cannot: {each['reason']}" for each in preview["refused"]]


def format_made(each: dict) -> str:
	verb = "Replaced" if each["replaced"] else "Made"
	missing = f"; add the header {', '.join(each['missing_headers'])}" if each["missing_headers"] else ""
	return f"{verb} {each['tool']} ({each['operation']}){missing}"
