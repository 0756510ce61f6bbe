"""Every figure that a user notices, with its goal: over HTTP, from cold, under load, in memory and on disk.

Its parts are benchmarks as well: load_rest, load_tools, load_streams, load_start, load_memory, load_records. Each
takes about a minute. The others of `scripts/bench` give the details: http, peers, streaming, floor, table_size.
"""

import time
from importlib import import_module
from pathlib import Path

PARTS = ("load_rest", "load_tools", "load_streams", "load_start", "load_memory", "load_records")


def measure() -> None:
	"""Print a line for each figure: today's, the goal, met or missed, and what the figure leaves out."""
	load = " ".join(Path("/proc/loadavg").read_text().split()[:3])
	print(f"load of the machine at the start: {load}")
	for part in PARTS:
		module = import_module(f"huf.tests.benchmarks.{part}")
		print(f"\n{part}: {module.__doc__.splitlines()[0]}")
		began = time.perf_counter()
		module.measure()
		print(f"  ({time.perf_counter() - began:.0f} s)")
