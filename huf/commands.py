"""Read by bench at every command; adds none of its own.

A worker of a bench forks for each job. What every run needs is loaded here before, once: it would cost each run seconds.
"""

import asyncio
import sys

WORKERS = {"worker", "worker-pool"}

commands: list = []


def load_for_jobs() -> None:
	from huf.ai.providers.litellm import warm_up
	from huf.ai.triggers import runs  # noqa: F401

	asyncio.run(warm_up())


if WORKERS & set(sys.argv[1:]):
	load_for_jobs()
