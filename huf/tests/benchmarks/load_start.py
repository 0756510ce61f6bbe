"""From cold: from ready to the first answer of a model."""

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
			learned = time.perf_counter() - began
			found = [start_again(site) for _ in range(ROUNDS)]
		finally:
			site.server.stop()
	seconds, memory, worked, ready = (statistics.median(each) for each in zip(*found, strict=True))
	FIRST.print(
		seconds,
		f"ready after {ready:.2f} s, {worked:.1f} s of the processor until the answer; "
		f"{learned:.1f} s for the site's first call of the model, which a child with LiteLLM checks",
	)
	MEMORY.print(memory)


def start_again(site: Site) -> tuple[float, float, float, float]:
	"""Seconds to the first answer, MB a little later, seconds of the processor, seconds until it was ready."""
	site.restart()
	began = time.perf_counter()
	site.run("0 0")
	seconds, worked = time.perf_counter() - began, read_cpu_s(site.server.process.pid)
	time.sleep(SETTLE_S)
	memory = max(map(read_resident_mb, list_processes(site.server.process.pid)))
	return seconds, memory, worked, site.server.seconds
