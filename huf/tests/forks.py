"""Test processes are forked from one that has already imported what servers and workers need (seconds)."""

from multiprocessing import get_context

FORKS = get_context("forkserver")
FORKS.set_forkserver_preload(["huf.tests.warm_modules"])
