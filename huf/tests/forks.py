"""Processes of tests, forked from one that has loaded what servers and workers need; loading it takes seconds."""

from multiprocessing import get_context

FORKS = get_context("forkserver")
FORKS.set_forkserver_preload(["huf.tests.warm_modules"])
