"""From cold: from ready to the first answer of a model, and the bytes of the first page."""

import re
import statistics
import time
from pathlib import Path

from huf.embedded.tests.server_test import Server
from huf.tests.benchmarks.goals import Goal
from huf.tests.benchmarks.http import Site, list_processes, read_cpu_s, read_status
from huf.tests.benchmarks.quick_model import quick_model

ROUNDS, SETTLE_S = 3, 3
FIRST = Goal(
	"from ready to the first model answer", 1.2, "s", leaves_out="the start of the process until it is ready"
)
MEMORY = Goal("  memory of the process that answered", 160, "MB")
PAGE = Goal(
	"bytes of the first page, as a browser accepts them", 170, "KB", leaves_out="parts loaded by its scripts"
)


def measure() -> None:
	with quick_model("look") as base_url:
		site = Site(base_url)
		try:
			PAGE.print(read_page(site) / 1000)
			found = [start_again(site) for _ in range(ROUNDS)]
		finally:
			site.server.stop()
	seconds, memory, worked, ready = (statistics.median(each) for each in zip(*found, strict=True))
	FIRST.print(seconds, f"ready after {ready:.2f} s, {worked:.1f} s of the processor until the answer")
	MEMORY.print(memory)


def start_again(site: Site) -> tuple[float, float, float, float]:
	"""Seconds to the first answer, MB a little later, seconds of the processor, seconds until it was ready."""
	site.server.stop()
	site.server = Server(site.home, site.port)
	began = time.perf_counter()
	site.run("0 0")
	seconds, worked = time.perf_counter() - began, read_cpu_s(site.server.process.pid)
	time.sleep(SETTLE_S)
	memory = max(map(read_status("VmRSS"), list_processes(site.server.process.pid))) / 1024
	return seconds, memory, worked, site.server.seconds


def read_page(site: Site) -> int:
	"""Bytes that are sent for the page of chats, and for all that it names."""
	headers = {**site.headers, "Accept-Encoding": "br, gzip", "Accept": "text/html"}
	page = site.pool.request("GET", "/huf/chat", headers=headers, decode_content=False)
	text = page.data.decode("utf-8", "replace")
	named = set(re.findall(r'(?:src|href)="(/assets/[^"]+\.(?:js|css))"', text))
	assert page.status == 200 and named, Path("/huf/chat")
	sent = [site.pool.request("GET", path, headers=headers, decode_content=False).data for path in named]
	return len(page.data) + sum(map(len, sent))
