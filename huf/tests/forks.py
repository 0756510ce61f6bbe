"""Test processes fork from one that has imported what servers and workers need, which takes seconds."""

from multiprocessing import get_context

FORKS = get_context("forkserver")
FORKS.set_forkserver_preload(["huf.tests.warm_modules"])
