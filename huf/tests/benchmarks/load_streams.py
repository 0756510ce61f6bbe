"""Streams: the delay of each token, and many slow streams with other requests at the same time."""

import statistics
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from huf.tests.benchmarks.goals import Goal
from huf.tests.benchmarks.http import Site, clocked, count_threads, read_cpu_s
from huf.tests.benchmarks.streaming import CLOCK, Reader, make_clock
from huf.tests.benchmarks.stub import other_process, serve_clock

TOKENS, TOKEN_PAUSE_S = 5_000, 0.001
STREAMS, CHUNKS, PAUSE_S = 200, 20, 1.0
OPENED_PER_S = 20
PINGS_PER_S = 10
P50 = Goal("a token to the wire at 1,000 tokens/s: p50", 1, "ms")
P99 = Goal("  p99", 5, "ms", leaves_out="the network; model, server and reader share the processors")
FIRST = Goal("200 slow streams opened in 10 s: first text p95", 0.3, "s")
FIRST_AT_ONCE = Goal("200 slow streams opened at once: first text p95", 0.3, "s")
PING = Goal("  a ping meanwhile, p95", 0.1, "s", leaves_out="a new connection: the client keeps its own")


def measure() -> None:
	with other_process(serve_clock) as base_url:
		site = Site(base_url)
		try:
			make_clock(site.server, site.headers["Cookie"], CLOCK, base_url)
			read(site, "1 0")
			print_tokens(site)
			print_streams(site, FIRST, OPENED_PER_S)
			print_streams(site, FIRST_AT_ONCE, None)
		finally:
			site.server.stop()


def read(site: Site, prompt: str, reader_type: type[Reader] = Reader) -> Reader:
	reader = reader_type(site.server.url, site.headers, prompt)
	reader.read()
	return reader


class TokenReader(Reader):
	"""A reader whose `delays` has an entry for each token, even if several arrive together."""

	def take(self, sent: list[str], now: float) -> None:
		super().take(sent, now)
		self.delays[-1:] = [now - float(each) for each in sent]


def print_tokens(site: Site) -> None:
	cpu_s = read_cpu_s(site.server.process.pid)
	reader = read(site, f"{TOKENS} {TOKEN_PAUSE_S}", TokenReader)
	cpu_s = read_cpu_s(site.server.process.pid) - cpu_s
	delays = sorted(delay * 1000 for delay in reader.delays)
	rate = TOKENS / (reader.arrivals[-1] - reader.arrivals[0])
	P50.print(statistics.median(delays), f"at {rate:.0f} tokens/s, {cpu_s / TOKENS * 1e6:.0f} µs CPU a token")
	P99.print(delays[int(len(delays) * 0.99)], f"{len(reader.arrivals)} events for {TOKENS} tokens")


def print_streams(site: Site, goal: Goal, per_s: int | None) -> None:
	"""Open the streams at that rate, one reader each, and send small requests at the same time."""
	server, stopped = site.server.process.pid, threading.Event()
	began, cpu_s = time.monotonic(), read_cpu_s(server)
	with ThreadPoolExecutor(1) as other:
		pings = other.submit(ping_until, site, stopped)
		firsts, readers, threads = open_streams(site, per_s, lambda: count_threads(server))
		stopped.set()
	cpu_s = read_cpu_s(server) - cpu_s
	complete = sum(each.chunks == CHUNKS for each in readers)
	note = f"p50 {statistics.median(firsts):.2f} s, {complete} complete, {threads} threads"
	goal.print(firsts[int(len(firsts) * 0.95)], f"{note}, {cpu_s / STREAMS * 1000:.0f} ms CPU a stream")
	waited = sorted(pings.result())
	PING.print(waited[int(len(waited) * 0.95)], f"of {len(waited)} in {time.monotonic() - began:.0f} s")


def open_streams(
	site: Site, per_s: int | None, sample: Callable[[], int]
) -> tuple[list[float], list[Reader], int]:
	"""Seconds to the first text of each stream, the readers, and the result of `sample` with all open."""
	readers = [Reader(site.server.url, site.headers, f"{CHUNKS} {PAUSE_S}") for _ in range(STREAMS)]

	def read_one(number: int) -> float:
		time.sleep(number / per_s if per_s else 0)
		began = time.monotonic()
		readers[number].read()
		return readers[number].arrivals[0] - began

	with ThreadPoolExecutor(STREAMS) as pool:
		first_times = pool.map(read_one, range(STREAMS))
		time.sleep(CHUNKS * PAUSE_S * 0.6)
		found = sample()
		return sorted(first_times), readers, found


def ping_until(site: Site, stopped: threading.Event) -> list[float]:
	waited = []
	while not stopped.wait(1 / PINGS_PER_S):
		waited.append(clocked(lambda: site.post("/api/method/ping", {}))[0] / 1000)
	return waited
