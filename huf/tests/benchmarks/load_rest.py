"""Runs by REST: compared with runs in process and with Agno, many at once, and queued."""

import os
import statistics

from huf.tests.benchmarks import peers
from huf.tests.benchmarks.goals import Goal, print_missing
from huf.tests.benchmarks.http import (
	Many,
	Site,
	count_threads,
	measure_many,
	measure_overhead,
	measure_queued,
	read_memory,
)
from huf.tests.benchmarks.quick_model import quick_model

CLIENT = "the client has a part of the same processors"
OVERHEAD = Goal("5-tool run by REST / in process", 1.3)
AGNO_RATIOS = {
	peers.OURS[1]: Goal("the same by REST / Agno in process, client kept", 0.65),
	peers.OURS[0]: Goal("in process / Agno, client kept", 0.45),
}
RATES = {
	64: Goal("64 at once by REST", 110, "runs/s", True, CLIENT),
	256: Goal("256 at once by REST", 100, "runs/s", True),
}
SPREADS = {64: Goal("  p99 / p50", 2), 256: Goal("  p99 / p50", 1.5)}
MEMORY = Goal("  memory of the server's processes", 300, "MB")
QUEUED = Goal("queued runs, with the default worker", 60, "runs/s", True)


def measure() -> None:
	with quick_model("look") as base_url:
		site = Site(base_url)
		try:
			by_rest, in_process, ratio = measure_overhead(site, base_url)
			OVERHEAD.print(ratio, f"{by_rest:.1f} / {in_process:.1f} ms")
			for at_once, goal in RATES.items():
				print_many(measure_many(site, at_once), goal, SPREADS[at_once])
			server = site.server.process.pid
			MEMORY.print(read_memory(server), f"{count_threads(server)} threads")
			QUEUED.print(measure_queued(site))
		finally:
			site.server.stop()
		print_agno_ratios(base_url)


def print_many(many: Many, rate: Goal, spread: Goal) -> None:
	rate.print(many.rate, f"{many.cpu_ms:.1f} ms of the processor a run")
	spread.print(many.p99 / many.p50, f"{many.p50:.2f} and {many.p99:.2f} s")


def print_agno_ratios(base_url: str) -> None:
	if "HUF_PEERS_PYTHON" not in os.environ:
		for goal in AGNO_RATIOS.values():
			print_missing(goal.row, "HUF_PEERS_PYTHON names no Python with Agno, see `peers`")
		return
	with peers.open_contestants(base_url, ("Agno",)) as contestants:
		rounds = peers.measure_single(contestants)
	for ours, goal in AGNO_RATIOS.items():
		goal.print(statistics.median(each[ours] / each["Agno"] for each in rounds))
