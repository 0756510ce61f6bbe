"""Imported by bench for every command. It adds no commands, and preloads LiteLLM in workers.

RQ workers fork for each job. Without the preload, every job would import LiteLLM again, which takes seconds.
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
