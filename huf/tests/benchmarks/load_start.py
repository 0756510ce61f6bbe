"""Cold start: time from readiness to the first answer of a model, and memory afterwards."""

import statistics
import time

from huf.tests.benchmarks.goals import Goal
from huf.tests.benchmarks.http import Site, list_processes, read_cpu_s, read_resident_mb
from huf.tests.benchmarks.quick_model import quick_model

ROUNDS, SETTLE_S = 3, 3
FIRST = Goal(
	"from ready to the first model answer", 1.2, "s", leaves_out="the start of the process until it is ready"
)
MEMORY = Goal("  memory of the process that answered", 160, "MB")


def measure() -> None:
	with quick_model("look") as base_url:
		site = Site(base_url)
		try:
			began = time.perf_counter()
			site.run("0 0")
			first_call_s = time.perf_counter() - began
			found = [measure_restart(site) for _ in range(ROUNDS)]
		finally:
			site.server.stop()
	seconds, memory, cpu_s, ready = (statistics.median(each) for each in zip(*found, strict=True))
	FIRST.print(
		seconds,
		f"ready after {ready:.2f} s, {cpu_s:.1f} s of the processor until the answer; "
		f"{first_call_s:.1f} s for the site's first call of the model, which a child with LiteLLM checks",
	)
	MEMORY.print(memory)


def measure_restart(site: Site) -> tuple[float, float, float, float]:
	"""Restart; returns seconds to the first answer, MB after SETTLE_S, CPU seconds, seconds until ready."""
	site.restart()
	began = time.perf_counter()
	site.run("0 0")
	seconds, cpu_s = time.perf_counter() - began, read_cpu_s(site.server.process.pid)
	time.sleep(SETTLE_S)
	memory = max(map(read_resident_mb, list_processes(site.server.process.pid)))
	return seconds, memory, cpu_s, site.server.seconds
