"""All figures that users notice, with their goals: HTTP, cold start, load, memory and disk.

The parts can run alone and take about a minute each: load_rest, load_tools, load_streams, load_start,
load_memory, load_records. Other benchmarks give the details: http, peers, streaming, floor, table_size.
"""

import time
from importlib import import_module
from pathlib import Path

PARTS = ("load_rest", "load_tools", "load_streams", "load_start", "load_memory", "load_records")


def measure() -> None:
	"""Print a line for each figure: the value, its goal, whether it is met, and what it leaves out."""
	load = " ".join(Path("/proc/loadavg").read_text().split()[:3])
	print(f"load of the machine at the start: {load}")
	for part in PARTS:
		module = import_module(f"huf.tests.benchmarks.{part}")
		print(f"\n{part}: {module.__doc__.splitlines()[0]}")
		began = time.perf_counter()
		module.measure()
		print(f"  ({time.perf_counter() - began:.0f} s)")
