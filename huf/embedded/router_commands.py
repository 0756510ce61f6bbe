"""The commands `huf router eval` and `huf router fit`: how well messages are classified, and which
threshold fits.
"""

import json
from pathlib import Path

import click

from huf.ai.routing.evaluation import MIN_DECISIONS, Evaluation, Score, evaluate_router, fit_threshold
from huf.ai.routing.router import decide_route
from huf.ai.routing.types import DEFAULT_THRESHOLD
from huf.embedded.text_files import read_text

LABELS = ("agent", "chat")
ROW = "{:<14}{:>7}{:>10}{:>7}"


@click.group()
def router():
	"""Measure the choice between chat and agent."""


@router.command("eval")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--threshold", default=DEFAULT_THRESHOLD, show_default=True, type=click.FloatRange(0, 1))
@click.option("--wrong", is_flag=True, help="List misclassified messages.")
def eval_(file, threshold, wrong):
	"""Compare the choices with the labels of FILE.jsonl.

	Each line is a message, {"text", "label", "language"}; the label is agent or chat. Neither a site nor a
	model is used.
	"""
	rows = read_rows(file)
	result = evaluate_router(rows, lambda text, attached: decide_route(text, attached, threshold=threshold))
	click.echo(format_evaluation(result, threshold))
	if wrong:
		for row, decision in result.wrong:
			click.echo(f"{row['label']:>5} expected, {decision.agent_score:.2f} for the agent: {row['text']}")


def read_rows(file: Path) -> list[dict]:
	rows = []
	for number, line in enumerate(read_text(file).splitlines(), 1):
		try:
			row = json.loads(line) if line.strip() else None
		except ValueError:
			raise click.ClickException(f"{file}, line {number}: invalid JSON.") from None
		if row is None:
			continue
		if (
			not isinstance(row, dict)
			or not isinstance(row.get("text"), str)
			or row.get("label") not in LABELS
		):
			raise click.ClickException(
				f'{file}, line {number}: "text" and "label" (agent or chat) are required.'
			)
		rows.append(row)
	if not rows:
		raise click.ClickException(f"{file} contains no messages.")
	return rows


def format_evaluation(result: Evaluation, threshold: float) -> str:
	heading = ROW.format("", "n", "accuracy", "F1")
	groups = [("all", result.score), *sorted(result.by_language.items())]
	stages = sorted(result.by_stage.items())
	return "\n".join(
		[
			f"threshold {threshold}",
			"",
			heading,
			*(format_score(name, score) for name, score in groups),
			"",
			*(format_score(f"by {name}", score) for name, score in stages),
			"",
			f"latency p50 {result.latency(0.5):.2f} ms, p95 {result.latency(0.95):.2f} ms",
		]
	)


def format_score(name: str, score: Score) -> str:
	return ROW.format(name, score.total, f"{score.accuracy:.3f}", f"{score.f1:.3f}")


@router.command()
@click.pass_obj
def fit(home):
	"""Suggest a threshold from this site's decisions and their outcomes."""
	from huf.embedded.cli import connected

	with connected(home):
		from huf.ai.core.settings import get_settings
		from huf.ai.storage.route_decisions import read_outcomes

		outcomes, now = read_outcomes(), get_settings().router_confidence_threshold
	fitted = fit_threshold(outcomes)
	if not fitted:
		raise click.ClickException(
			f"{len(outcomes)} decisions have come to an end; "
			f"{MIN_DECISIONS} are needed to suggest a threshold."
		)
	threshold, share = fitted
	click.echo(
		f"{len(outcomes)} decisions; {threshold} would have been right for {share:.1%}. Now it is {now}."
	)
	click.echo("Set it in Huf Settings, or as ROUTER_CONFIDENCE_THRESHOLD.")
