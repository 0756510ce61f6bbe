"""Memory that a server keeps after HUF_BENCH_RUNS (5,000) runs and HUF_BENCH_PAUSE_S (60) of pause."""

import os
import time
from concurrent.futures import ThreadPoolExecutor

from huf.tests.benchmarks.goals import Goal
from huf.tests.benchmarks.http import Site, read_memory
from huf.tests.benchmarks.quick_model import quick_model

RUNS = int(os.environ.get("HUF_BENCH_RUNS", 5_000))
PAUSE_S = float(os.environ.get("HUF_BENCH_PAUSE_S", 60))
WARM_UPS, AT_ONCE = 3_000, 8
KEPT = Goal(
	"memory kept of a run",
	1,
	"KB",
	leaves_out="the first 3,000 runs, which fill the cache of live events (8 MB)",
)


def measure() -> None:
	with quick_model("look") as base_url:
		site = Site(base_url)
		try:
			before, after = (measure_memory(site, count) for count in (WARM_UPS, RUNS))
		finally:
			site.server.stop()
	KEPT.print((after - before) * 1024 / RUNS, f"{before:.0f} MB, after {RUNS:,} runs {after:.0f} MB")


def measure_memory(site: Site, runs: int) -> float:
	"""Megabytes of the server after `runs` runs and the pause."""
	with ThreadPoolExecutor(AT_ONCE) as pool:
		list(pool.map(site.run, ["1 0"] * runs))
	time.sleep(PAUSE_S)
	return read_memory(site.server.process.pid)
