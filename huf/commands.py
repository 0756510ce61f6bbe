"""Imported by bench for every command: adds `huf-worker`, and preloads LiteLLM in workers.

RQ workers fork for each job. Without the preload, every job would import LiteLLM again, which takes seconds.
"""

import asyncio
import sys

import click

WORKERS = {"worker", "worker-pool", "huf-worker"}


@click.command("huf-worker")
@click.option("--processes", default=1, show_default=True, help="Each uses one processor; memory is shared.")
@click.option("--threads", default=8, show_default=True, help="Runs that each process works on at a time.")
@click.option(
	"--waiting",
	default=0,
	show_default=True,
	help="More runs of each process that wait for a model, without a database connection.",
)
@click.pass_context
def huf_worker(context: click.Context, processes: int, threads: int, waiting: int) -> None:
	"""Execute queued runs of a site, and resume those whose worker was killed."""
	from huf.ai.runs.worker import serve

	# Frappe 15 passes a dict, later versions an object.
	(site,) = context.obj["sites"] if isinstance(context.obj, dict) else context.obj.sites
	serve(site, processes, threads, waiting)


commands = [huf_worker]


def load_for_jobs() -> None:
	from huf.ai.providers.litellm import warm_up
	from huf.ai.triggers import runs  # noqa: F401

	asyncio.run(warm_up())


if WORKERS & set(sys.argv[1:]):
	load_for_jobs()
