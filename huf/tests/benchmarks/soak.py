"""Endurance: slow streams, concurrent runs and queued runs together, for the given seconds (600).

	scripts/bench soak 90

It reports failed requests, lost and open runs, and memory. Clients use several loopback addresses, because a
server limits the connections of one.
"""

import threading
import time
from collections import Counter
from collections.abc import Callable
from http.client import HTTPException

from urllib3.exceptions import HTTPError

from huf.tests.benchmarks.http import Site, count_threads, read_cpu_s, read_memory
from huf.tests.benchmarks.quick_model import quick_model
from huf.tests.benchmarks.streaming import CLOCK, Reader, make_clock
from huf.tests.benchmarks.stub import other_process, serve_clock

STREAMS, CHUNKS, PAUSE_S = 200, 20, 1.0
AT_ONCE, QUEUED, QUEUED_PER_S = 256, 2_000, 100
RUN = "3 0.05"
DRAIN_S = 300
"""How long queued runs may take after the other load has ended."""
ADDRESSES = ("127.0.0.1", "127.0.0.2", "127.0.0.3")
SAMPLES = {"start": 0.1, "a quarter": 0.25, "middle": 0.5, "three quarters": 0.75, "end": 1.0}
"""{name: share of the duration at which memory is read}"""


class Load:
	"""Threads that send requests until the deadline; `counts`: {kind of request: number}."""

	def __init__(self, site: Site, seconds: float):
		self.site, self.deadline = site, time.monotonic() + seconds
		self.counts: Counter[str] = Counter()
		self.seconds: dict[str, list[float]] = {"run": [], "stream": []}
		self.guard = threading.Lock()
		self.faults: Counter[str] = Counter()

	def start(self) -> list[threading.Thread]:
		streams = [(self.repeat, ("stream", self.stream, number)) for number in range(STREAMS)]
		runs = [(self.repeat, ("run", self.run, number)) for number in range(AT_ONCE)]
		targets = [*streams, *runs, (self.enqueue, ())]
		threads = [
			threading.Thread(target=target, args=arguments, daemon=True) for target, arguments in targets
		]
		for thread in threads:
			thread.start()
		return threads

	def repeat(self, kind: str, request: Callable[[str], None], number: int) -> None:
		address = ADDRESSES[number % len(ADDRESSES)]
		while time.monotonic() < self.deadline:
			self.count(kind, lambda: request(address))

	def count(self, kind: str, request: Callable[[], None]) -> None:
		began = time.monotonic()
		try:
			request()
		except (OSError, HTTPException, HTTPError, AssertionError, LookupError) as error:
			with self.guard:
				self.counts[f"{kind}, failed"] += 1
				self.faults[f"{kind}: {type(error).__name__}: {error}"[:300]] += 1
			time.sleep(0.5)
		else:
			with self.guard:
				self.counts[kind] += 1
				self.seconds.setdefault(kind, []).append(time.monotonic() - began)

	def run(self, address: str) -> None:
		self.site.run_from(address, RUN)

	def stream(self, address: str) -> None:
		reader = Reader(self.site.server.url, self.site.headers, f"{CHUNKS} {PAUSE_S}", source=address)
		reader.read()
		assert reader.chunks == CHUNKS, f"{reader.chunks} of {CHUNKS} chunks"

	def enqueue(self) -> None:
		for _ in range(QUEUED):
			self.count("queued", lambda: self.site.enqueue(RUN))
			time.sleep(1 / QUEUED_PER_S)


def measure(seconds: int = 600) -> None:
	with other_process(serve_clock) as clock_url, quick_model("look") as base_url:
		site = Site(base_url)
		try:
			make_clock(site.server, site.headers["Cookie"], CLOCK, clock_url)
			site.run("0 0")
			before, load = site.count_runs(), Load(site, seconds)
			began, cpu_s = time.monotonic(), read_cpu_s(site.server.process.pid)
			threads = load.start()
			watch_memory(site, began, seconds)
			for thread in threads:
				thread.join()
			cpu_s = read_cpu_s(site.server.process.pid) - cpu_s
			report(site, load, before, time.monotonic() - began, cpu_s)
		finally:
			site.server.stop()


def watch_memory(site: Site, began: float, seconds: float) -> None:
	server = site.server.process.pid
	for name, share in SAMPLES.items():
		time.sleep(max(0.0, began + seconds * share - time.monotonic()))
		print(
			f"  memory, {name:16}{read_memory(server):8.0f} MB, {count_threads(server)} threads", flush=True
		)


def report(site: Site, load: Load, before: int, seconds: float, cpu_s: float) -> None:
	drained = drain(site)
	for kind, times in load.seconds.items():
		times.sort()
		p50, p99 = times[len(times) // 2], times[int(len(times) * 0.99)]
		print(f"  {kind:8}{load.counts[kind]:8} whole, p50 {p50:.2f} s, p99 {p99:.2f} s")
	failed = sum(count for kind, count in load.counts.items() if kind.endswith("failed"))
	succeeded = sum(load.counts.values()) - failed
	ended, unsuccessful = site.count_runs() - before, site.count_runs(["Failed", "Stopped", "Cancelled"])
	print(f"  {seconds:.0f} s, {cpu_s / seconds:.2f} processors; the queue was empty {drained:.0f} s later")
	print(f"  failed requests {failed} (goal 0), lost runs {max(0, succeeded - ended)} (goal 0)", end=", ")
	print(f"open runs {site.count_open()} (goal 0), runs without success {unsuccessful} (goal 0)")
	for fault, count in load.faults.most_common(10):
		print(f"    {count} × {fault}")


def drain(site: Site) -> float:
	began = time.monotonic()
	while site.count_open() and time.monotonic() - began < DRAIN_S:
		time.sleep(0.5)
	return time.monotonic() - began
