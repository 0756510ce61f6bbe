"""The command `huf`: creates, serves and maintains a site, and runs agents.

Only for the embedded runtime; on a bench, `bench` does the same. Imports little at module level, so that `huf
--help` and the server start quickly.
"""

import json
import os
import sys
import webbrowser
from contextlib import contextmanager
from functools import reduce
from pathlib import Path

import click

import huf
import huf.embedded
from huf.embedded import site
from huf.embedded.malloc import start_with_settings
from huf.embedded.router_commands import router
from huf.embedded.server import CannotStart, only_server, serve, url_of

SECTIONS = {
	"Start": ("start", "worker"),
	"Use": ("ask", "mail", "replay", "diff", "undo"),
	"Stop": ("stop", "release"),
	"Packs": ("packs", "import", "import-agent", "import-openapi", "remove", "export"),
	"Measure": ("eval", "router"),
	"Maintain": ("init", "migrate", "set-password", "api-key", "execute", "console"),
	"Develop": ("new-app", "install-app", "test", "errors"),
	"Operate": ("audit", "backup", "restore", "doctor", "rotate-keys"),
}


class Sections(click.Group):
	"""Lists commands under headings, and reports errors of files and databases as one sentence."""

	def invoke(self, context):
		from frappe.database.faults import describe_fault

		from huf.ai.core.errors import UsageError

		try:
			return super().invoke(context)
		except (CannotStart, UsageError) as error:
			raise click.ClickException(str(error)) from None
		except Exception as error:  # any driver's fault may come; what is not described is raised again
			fault, place = describe_fault(error), getattr(error, "filename", None)
			if isinstance(error, click.ClickException) or not (
				fault or (place and isinstance(error, OSError))
			):
				raise
			sentence = fault[1] if fault else f"{error.strerror}. Name another place."
			raise click.ClickException(f"{place or context.obj}: {sentence}") from None

	def format_commands(self, context, formatter):
		for title, names in SECTIONS.items():
			with formatter.section(title):
				formatter.write_dl([(name, self.commands[name].get_short_help_str(120)) for name in names])


def default_home() -> Path:
	"""`huf-home` in a checkout, `~/.huf` for an installed package."""
	checkout = Path(huf.__file__).resolve().parents[1]
	return checkout / "huf-home" if (checkout / "pyproject.toml").exists() else Path.home() / ".huf"


@click.group(cls=Sections, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.option(
	"--home",
	type=click.Path(file_okay=False, path_type=Path),
	envvar="HUF_HOME",
	help="Folder of the site.",
)
@click.version_option(huf.__version__, "-V", "--version", message="Huf %(version)s")
@click.pass_context
def cli(context, home):
	"""Huf: AI agents that work on your records.

	`huf start` is all it takes; everything is kept in one folder, HUF_HOME.
	"""
	context.obj = (home or default_home()).resolve()


def make_site(home: Path):
	"""Create the site and print how to log in. The password is printed once and never stored in plain
	text.
	"""
	given = os.environ.get("HUF_ADMIN_PASSWORD")
	password = site.create(home, given or None)
	click.echo(f"  Created a site in {home}")
	click.echo("  User      Administrator")
	click.echo("  Password  " + ("as in HUF_ADMIN_PASSWORD" if given else f"{password}   (shown only now)"))


def make_or_migrate_site(home: Path):
	if site.exists(home):
		site.check_files(home)
		site.migrate(home)
	else:
		make_site(home)


@contextmanager
def connected(home: Path, user: str = "Administrator"):
	"""Open the site as this user. Commits at the end unless an exception was raised.

	For errors meant for the caller, such as an unknown agent, only the message is printed.
	"""
	from huf.ai.core.errors import ToolError, UsageError

	if not site.exists(home):
		raise click.ClickException(f"There is no site in {home} yet: run `huf start` or `huf init` first.")
	site.check_config(home)
	with site.opened(home) as frappe:
		frappe.set_user(resolve_user(frappe, user))
		try:
			yield frappe
		except (UsageError, ToolError, frappe.PermissionError, frappe.ValidationError) as error:
			reason = frappe.utils.strip_html(str(error) or frappe.flags.error_message or "")
			if isinstance(error, frappe.MandatoryError):
				reason = f"A value is missing. {reason}"
			refused = f"{frappe.session.user} may not do this."
			kind = refused if isinstance(error, frappe.PermissionError) else type(error).__name__
			raise click.ClickException(reason or kind) from None
		frappe.db.commit()


def resolve_user(frappe, user: str) -> str:
	"""The name as it is stored: the database also finds `administrator`, which is nobody elsewhere."""
	name = frappe.db.get_value("User", {"name": user})
	if not name:
		raise click.ClickException(f"There is no user {user}.")
	return name


@cli.command()
@click.option("--port", default=8000, show_default=True, envvar="HUF_PORT", type=click.IntRange(1, 65535))
@click.option("--host", default="127.0.0.1", show_default=True, help="0.0.0.0 admits other machines.")
@click.option("--open/--no-open", "open_browser", default=False, help="Open a browser when it is ready.")
@click.option("--reload", "reloads", is_flag=True, help="Restart after changes of files in HUF_HOME/apps.")
@click.pass_obj
def start(home, port, host, open_browser, reloads):
	"""Serve the site; create it the first time."""
	if reloads:
		from huf.embedded.reloader import serve_reloading

		return serve_reloading(home, host, port, open_browser)
	click.echo()

	def on_ready():
		click.echo(f"  Huf {huf.__version__} is ready at {url_of(host, port)}   (stop with Ctrl-C)\n")
		if not (Path(huf.__file__).parent / "www/huf.html").exists():
			click.echo(
				"  The web app is not built, so /huf is missing. Install without HUF_SKIP_UI to build it.\n"
			)
		if open_browser:
			webbrowser.open(url_of(host, port))

	serve(home, host, port, lambda: make_or_migrate_site(home), on_ready)


@cli.command()
@click.option(
	"--threads", default=16, show_default=True, type=click.IntRange(2), help="Number of jobs at a time."
)
@click.pass_obj
def worker(home, threads):
	"""Run background jobs in a process of its own."""
	from huf.embedded.worker import work

	with connected(home) as frappe:
		frappe.get_hooks()  # without the package of an app, every job would fail
	click.echo(f"Running the jobs of {home} (stop with Ctrl-C)")
	work(home, site.SITE, threads)


@cli.command()
@click.argument("agent")
@click.argument("prompt")
@click.option("--user", default="Administrator", show_default=True, help="User who asks.")
@click.option("--json", "as_json", is_flag=True, help="Print the whole result instead of the answer's text.")
@click.pass_obj
def ask(home, agent, prompt, user, as_json):
	"""Ask an agent and print its answer."""
	with connected(home, user) as frappe:
		check_agent(frappe, agent)
		from huf.ai.runs.entry import run_agent_sync

		result = run_agent_sync(agent_name=agent, prompt=prompt)
		click.echo(frappe.as_json(result) if as_json else describe_result(result))
		if result.get("error") and not as_json:
			click.echo(result["error"], err=True)
		if not result.get("success"):
			sys.exit(1)


def check_agent(frappe, agent: str) -> None:
	if not frappe.db.exists("Agent", agent):
		names = frappe.get_list("Agent", {"disabled": 0}, pluck="name", order_by="name asc")
		raise click.ClickException(f"There is no agent {agent!r}. Agents: {', '.join(names) or 'none'}.")


def describe_result(result: dict) -> str:
	"""The answer, what the run waits for, or how it ended."""
	waiting = [
		f"It waits for approval of {draft['tool']}. Answer in the web app: /huf/drafts/{draft['draft']}"
		for draft in result.get("drafts") or ()
	]
	ended = f"The run {result['run']} has the status {result['status']}."
	return "\n".join(filter(None, [result["response"], *waiting])) or ended


@cli.command()
@click.argument("run")
@click.option("--model", help="Call this AI Model instead, with the recorded tool results.")
@click.pass_obj
def replay(home, run, model):
	"""Replay a run from its journal."""
	with connected(home):
		from huf.ai.runs.replay import format_replay

		click.echo(format_replay(run, model))


@cli.command()
@click.argument("run")
@click.argument("other")
@click.pass_obj
def diff(home, run, other):
	"""Compare two runs step by step."""
	with connected(home):
		from huf.ai.runs.replay import format_diff

		click.echo(format_diff(run, other))


@cli.command()
@click.pass_obj
def init(home):
	"""Create the site without serving it."""
	if site.exists(home):
		raise click.ClickException(
			f"{home} has a site already. `huf start` serves it, `huf migrate` updates it."
		)
	with only_server(home, "huf init", "Stop it first."):
		make_site(home)


@cli.command()
@click.pass_obj
def migrate(home):
	"""Update the site to the installed code."""
	with connected(home):
		pass
	site.migrate(home)
	click.echo(f"{home} is up to date.")


@cli.command("set-password")
@click.argument("user", default="Administrator")
@click.option("--password", help="Asked for if it is not given here.")
@click.pass_obj
def set_password(home, user, password):
	"""Set a user's password and end their sessions."""
	with connected(home) as frappe:
		user = resolve_user(frappe, user)
	if user == "Guest":
		raise click.ClickException("Guest cannot sign in. Name another user.")
	password = password or click.prompt("New password", hide_input=True, confirmation_prompt=True)
	with connected(home) as frappe:
		from frappe.sessions import clear_sessions
		from frappe.utils.password import update_password
		from frappe.utils.password_strength import check_password_strength

		from huf.ai.setup.people import record_action

		check_password_strength(password, user)
		update_password(user, password)
		clear_sessions(user)
		record_action(user, "The password was set on the server.")
	click.echo(f"The password of {user} is changed.")


@cli.command("api-key")
@click.argument("user")
@click.pass_obj
def api_key(home, user):
	"""Give a user a new API key for scripts, and print KEY:SECRET. The previous secret stops working."""
	with connected(home) as frappe:
		doc = frappe.get_doc("User", resolve_user(frappe, user))
		if doc.name == "Guest" or not doc.enabled:
			raise click.ClickException(f"{doc.name} cannot sign in. Name an enabled user.")
		doc.api_key = doc.api_key or frappe.generate_hash(length=15)
		doc.api_secret = secret = frappe.generate_hash(length=15)
		doc.save()
		frappe.db.commit()
		click.echo(f"{doc.api_key}:{secret}")


@cli.command()
@click.argument("path", metavar="DOTTED.PATH")
@click.option("--kwargs", default="{}", help="Arguments as JSON.")
@click.pass_obj
def execute(home, path, kwargs):
	"""Call a function on the site, commit, and print its result."""
	import asyncio

	values = read_arguments(kwargs)
	with connected(home) as frappe:
		try:
			function = find_function(frappe, path)
		except (ImportError, AttributeError, ValueError, frappe.ValidationError) as error:
			raise click.ClickException(f"There is no function {path}: {error}") from None
		if not callable(function):
			raise click.ClickException(f"There is no function {path}: it is a {type(function).__name__}")
		if hasattr(function, "huf_tool"):
			from huf.ai.tools.custom_functions import call_function

			result = call_function(function, values)
		else:
			result = frappe.call(function, **values)
		if asyncio.iscoroutine(result):
			result = asyncio.run(result)
		if result is not None:
			click.echo(format_result(frappe, result))


def format_result(frappe, result) -> str:
	"""A result as JSON, or as Python shows it: what cannot be JSON must not roll back what was done."""
	try:
		return frappe.as_json(result)
	except (TypeError, ValueError, AttributeError, RecursionError):
		return repr(result)


def find_function(frappe, path: str):
	"""The function at a path, also a method of an object of frappe, such as `frappe.db.count`."""
	try:
		return frappe.get_attr(path)
	except ImportError:
		if not path.startswith("frappe."):
			raise
		return reduce(getattr, path.split(".")[1:], frappe)


def read_arguments(text: str) -> dict:
	try:
		values = json.loads(text)
	except ValueError as error:
		raise click.BadParameter(f"This is not JSON: {error}.", param_hint="--kwargs") from None
	if not isinstance(values, dict):
		raise click.BadParameter('Write an object, such as {"name": 1}.', param_hint="--kwargs")
	return values


@cli.command()
@click.pass_obj
def console(home):
	"""A Python prompt on the site; frappe.db.commit() keeps what you change."""
	import code

	with connected(home) as frappe:
		code.interact(f"frappe is connected to {home} as Administrator", local={"frappe": frappe})
		frappe.db.rollback()


cli.add_command(router)


def main():
	if set(SECTIONS["Start"]) & set(sys.argv):
		start_with_settings()
	os.umask(0o077)  # the home contains secrets: only its owner may read it
	# otherwise litellm downloads a price list on import
	os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
	huf.embedded.install()
	import frappe

	if not hasattr(frappe, "__version__") or "embedded" not in frappe.__version__:
		sys.exit("Frappe is installed here: this is a bench. Use `bench` instead of `huf`.")
	cli(prog_name="huf")


# Modules with more commands, which import names from above.
from huf.embedded import (  # noqa: E402
	agent_commands,  # noqa: F401
	app_commands,  # noqa: F401
	eval_commands,  # noqa: F401
	mail_commands,  # noqa: F401
	maintenance_commands,  # noqa: F401
	openapi_commands,  # noqa: F401
	pack_commands,  # noqa: F401
	undo_commands,  # noqa: F401
)
