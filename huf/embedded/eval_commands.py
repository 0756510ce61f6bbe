"""The command `huf eval`: an agent's cases run, and how likely it does well again."""

import sys

import click

from huf.embedded.cli import cli, connected


@cli.command("eval")
@click.argument("agent")
@click.option("--times", default=1, show_default=True, help="How often each case is run.")
@click.option("--model", help="An AI Model, Offline, or Recorded (what is on record); else the agent's own.")
@click.option("--judge", help="The AI Model that judges answers; else the Default Model.")
@click.option("--user", default="Administrator", show_default=True, help="In whose name.")
@click.option("--json", "as_json", is_flag=True, help="The whole report.")
@click.pass_obj
def evaluate(home, agent, times, model, judge, user, as_json):
	"""Run an agent's eval cases; changes that wait for them are tried, and made if all pass.

	Nothing that a case does stays. A live model is really asked, and costs.
	"""
	with connected(home, user) as frappe:
		from huf.ai.core.errors import UsageError
		from huf.ai.evals import pending_changes, runner

		def show(result) -> None:
			if not as_json:
				click.echo(runner.format_result(result))

		try:
			if pending_changes.read_changes(agent):
				held = pending_changes.try_changes(agent, times, model, judge, on_result=show)
				report, text = held.report, "made" if held.applied else "still wait"
			else:
				report, text = runner.evaluate_agent(agent, times, model, judge, on_result=show), None
		except (UsageError, frappe.DoesNotExistError) as error:
			raise click.ClickException(str(error)) from None
		click.echo(frappe.as_json(report.as_dict()) if as_json else "\n".join(runner.format_summary(report)))
		if text and not as_json:
			click.echo(f"The changes of {agent} that waited: {text}.")
	if not report.is_good:
		sys.exit(1)
