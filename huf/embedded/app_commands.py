"""The commands for apps of your own: `huf new-app`, `huf install-app`, `huf test`."""

import re
import sys
import tempfile
import unittest
from pathlib import Path

import click

from huf.embedded import site
from huf.embedded.cli import cli, connected

NAME = re.compile(r"[a-z][a-z0-9_]{1,39}")
HOOKS = """app_name = "{name}"
app_title = "{title}"
app_publisher = "{title}"
app_description = "Own tools for agents"
app_email = "nobody@example.com"
app_license = "MIT"
"""
PROJECT = """[project]
name = "{name}"
description = "Own tools for agents"
requires-python = ">=3.10"
dynamic = ["version"]

[build-system]
requires = ["flit_core >=3.4,<4"]
build-backend = "flit_core.buildapi"
"""
EXAMPLE = '''"""Tools of this app: each function marked with @tool. Every file in this folder is read."""

from huf.ai.tools.registry import tool


@tool(effect="read")
def add_vat(net: float, percent: float = 20) -> dict:
	"""Add value-added tax to a net price.

	Args:
		net: The price without tax
		percent: The rate in percent
	"""
	return {{"gross": round(net * (1 + percent / 100), 2)}}
'''
TEST = '''"""Tests of this app: `huf test {name}` runs them on a new site, without a model."""

import frappe

from huf.testing import AgentTestCase, text, tool_call


class TestExample(AgentTestCase):
	def test_agent_adds_vat(self):
		# Runs commit: a site that is kept has the agents of earlier tests.
		clerk = f"Clerk {{frappe.generate_hash(length=8)}}"
		agent = frappe.get_doc({{"doctype": "Agent", "agent_name": clerk}})
		agent.update({{"instructions": "Compute prices.", "agent_tool": [{{"tool": "add_vat"}}]}}).insert()
		self.script(tool_call("add_vat", {{"net": 10}}), text("It costs 12."))
		result = self.ask(clerk, "What is 10 with tax?")
		self.assertEqual(result["response"], "It costs 12.")
		self.assertEqual(self.requests[-1]["messages"][-1]["content"], '{{"gross": 12.0}}')
'''
FILES = {
	"pyproject.toml": PROJECT,
	"{name}/__init__.py": '__version__ = "0.0.1"\n',
	"{name}/hooks.py": HOOKS,
	"{name}/modules.txt": "{title}\n",
	"{name}/patches.txt": "",
	"{name}/{name}/__init__.py": "",
	"{name}/huf_tools/__init__.py": "",
	"{name}/huf_tools/example.py": EXAMPLE,
	"{name}/tests/__init__.py": "",
	"{name}/tests/test_example.py": TEST,
}


@cli.command("new-app")
@click.argument("name")
@click.pass_obj
def new_app(home, name):
	"""Create an app for your own Python tools and install it."""
	if not NAME.fullmatch(name):
		raise click.ClickException("A name has lowercase letters, digits and _, such as my_tools.")
	with connected(home):
		folder = home / "apps" / name
		if (folder / name).exists() or is_importable(name):
			raise click.ClickException(
				f"There is a Python package {name} already. Choose another name, or install it with "
				f"`huf install-app {name}`."
			)
	write_app(folder, name)
	site.install_app(home, name)
	site.migrate(home)
	click.echo(f"  Created and installed the app {name}")
	click.echo(f"  Tools     {folder / name / 'huf_tools'}   (each function marked with @tool)")
	click.echo("  Example   add_vat, among the tools of agents; as a Custom Function it is")
	click.echo(f"            {name}.huf_tools.example.add_vat")
	click.echo(f"  Tests     {folder / name / 'tests'}   (huf test {name})")
	click.echo(
		"  After a change: restart `huf start`, which also lists new tools; with --reload it restarts itself."
	)


@cli.command("install-app")
@click.argument("name")
@click.pass_obj
def install_app(home, name):
	"""Install an app whose folder is in HUF_HOME/apps, or that pip has installed."""
	with connected(home) as frappe:
		if name in frappe.get_installed_apps():
			raise click.ClickException(f"The app {name} is installed. `huf migrate` reads its files again.")
		frappe.site_local.add_app_paths(str(site.sites_path(home)), [name])
		if not NAME.fullmatch(name) or not is_importable(name):
			raise click.ClickException(
				f"There is no app {name}: neither the folder {home / 'apps' / name / name} nor an installed "
				f"Python package {name}."
			)
		if not is_importable(f"{name}.hooks"):
			raise click.ClickException(f"The Python package {name} is not an app: it has no hooks.py.")
	site.install_app(home, name)
	site.migrate(home)
	click.echo(f"  Installed the app {name}. If the site is being served, restart `huf start`.")


@cli.command("test")
@click.argument("app")
@click.argument("names", nargs=-1)
@click.pass_obj
def run_app_tests(home, app, names):
	"""Run the tests of an app on a new site, which is deleted afterwards.

	NAMES are modules, classes or tests such as my_tools.tests.test_vat; default: every test_*.py of the app.
	"""
	with connected(home) as frappe:
		apps = frappe.get_installed_apps()
		if app not in apps:
			raise click.ClickException(f"The app {app} is not installed here. It has: {', '.join(apps)}.")
		package = Path(frappe.get_app_path(app))
	if others := [each for each in names if each.partition(".")[0] != app]:
		raise click.ClickException(
			f"{others[0]} is not a test of {app}. Write the whole name, such as {app}.tests.test_example."
		)
	with tempfile.TemporaryDirectory(prefix="huf-test-") as folder:
		other = Path(folder)
		if (home / "apps").is_dir():
			(other / "apps").symlink_to(home / "apps")
		site.create(other, apps=apps)
		site.migrate(other)
		with site.opened(other) as frappe:
			frappe.flags.in_test = True
			result = unittest.TextTestRunner(verbosity=2).run(load_tests(package, names))
	if not result.testsRun:
		raise click.ClickException(f"{package} has no tests: files test_*.py, in folders with __init__.py.")
	if not result.wasSuccessful():
		sys.exit(1)


def load_tests(package: Path, names: tuple[str, ...]) -> unittest.TestSuite:
	loader = unittest.TestLoader()
	if names:
		return loader.loadTestsFromNames(names)
	return loader.discover(str(package), top_level_dir=str(package.parent))


def is_importable(name: str) -> bool:
	from importlib.util import find_spec

	return find_spec(name) is not None


def write_app(folder: Path, name: str) -> None:
	title = name.replace("_", " ").title()
	for path, text in FILES.items():
		file = folder / path.format(name=name)
		file.parent.mkdir(parents=True, exist_ok=True)
		file.write_text(text.format(name=name, title=title), encoding="utf-8")
