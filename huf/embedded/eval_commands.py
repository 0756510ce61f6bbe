"""The command `huf eval`: runs an agent's eval cases and estimates how reliably they pass."""

import sys

import click

from huf.embedded.cli import check_agent, cli, connected


@cli.command("eval")
@click.argument("agent")
@click.option("--times", default=1, show_default=True, help="Runs per case.")
@click.option("--model", help="An AI Model, Offline, or Recorded; default: the agent's own.")
@click.option("--judge", help="The AI Model that judges answers; default: the Default Model.")
@click.option("--user", default="Administrator", show_default=True, help="User who runs the cases.")
@click.option("--json", "as_json", is_flag=True, help="Print the whole report.")
@click.pass_obj
def evaluate(home, agent, times, model, judge, user, as_json):
	"""Run an agent's eval cases; apply its pending changes if all pass and no --model is given.

	Cases leave nothing behind. A live model is really called, and costs money.
	"""
	with connected(home, user) as frappe:
		check_agent(frappe, agent)
		from huf.ai.evals import pending_changes, runner

		def show(result) -> None:
			if not as_json:
				click.echo(runner.format_result(result))

		if pending_changes.read_pending_changes(agent):
			held = pending_changes.try_changes(agent, times, model, judge, on_result=show)
			report, pending = held.report, describe_outcome(held.applied, model)
		else:
			report, pending = runner.evaluate_agent(agent, times, model, judge, on_result=show), None
		click.echo(frappe.as_json(report.as_dict()) if as_json else "\n".join(runner.format_summary(report)))
		if pending and not as_json:
			click.echo(pending)
	if not report.is_good:
		sys.exit(1)


def describe_outcome(applied: bool, model: str | None) -> str:
	if applied:
		return "The pending changes were tested and applied."
	reason = "they are tested only without --model" if model else "not every case passed"
	return f"The pending changes were not applied: {reason}."
