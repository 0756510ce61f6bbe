"""The cost of streaming: per chunk compared with LiteLLM alone, first text, and fifty streams at once."""

import json
import statistics
import tempfile
import threading
import time
from http.client import HTTPConnection
from pathlib import Path

import frappe

from huf.ai.core.event_loops import run_coroutine, run_on_model_loop
from huf.ai.core.types import AgentRequest
from huf.ai.runs.entry import stream_agent
from huf.api.wire.sse import encode_events
from huf.tests.benchmarks.run_cost import timed
from huf.tests.benchmarks.stub import other_process, serve_clock
from huf.tests.factories import SECRET, make, make_agent, unique
from huf.tests.ports import find_free_port

CHUNKS, ROUNDS = 2_000, 5
STREAMS, PACED, PAUSE_S = 50, 40, 0.1
"""Concurrent streams, chunks of each, and seconds between two chunks of the model."""
FIRST_ROUNDS = 20
STEADY, STEADY_PAUSE_S = 300, 0.005
"""Chunks of a steady stream and seconds between them, while another process reads long answers."""
CLOCK, LONG = "Clock", "Long"
PASSWORD = "a password of the benchmark 7"


def measure() -> None:
	"""Print milliseconds per chunk, delays of texts that the model has sent, and the longest silence."""
	with other_process(serve_clock) as base_url:
		print_chunk(base_url)
		with tempfile.TemporaryDirectory(prefix="huf-bench-") as home:
			measure_server(Path(home), base_url)


def print_chunk(base_url: str) -> None:
	"""Print the time of a long answer without pauses: by LiteLLM alone, and as a run encoded as events."""
	provider = make("AI Provider", provide_name=unique("Clock"), api_key=SECRET, api_base=base_url)
	agent = make_agent(
		make("AI Model", model_name=unique("clock"), provider=provider.name, own_prices=1).name
	)

	def ours() -> None:
		request = AgentRequest(agent, f"{CHUNKS} 0", frappe.session.user, external_id=unique("thread"))
		for _ in encode_events(stream_agent(request)):
			pass

	bare = lambda: run_coroutine(run_on_model_loop(read_bare(base_url)))  # noqa: E731
	pairs = [(timed(bare), timed(ours)) for _ in range(ROUNDS + 1)][1:]
	alone, run = (statistics.median(side) for side in zip(*pairs, strict=True))
	extra = statistics.median(our - their for their, our in pairs) / CHUNKS
	print(f"an answer of {CHUNKS} chunks by LiteLLM alone    {alone:8.1f} ms")
	print(
		f"the same as a run, every event as a line    {run:8.1f} ms   {extra:.3f} ms a chunk more (target 0.3)"
	)


async def read_bare(base_url: str) -> None:
	import litellm

	stream = await litellm.acompletion(
		model="openai/clock",
		api_base=base_url,
		api_key="sk-bench",
		stream=True,
		messages=[{"role": "user", "content": f"{CHUNKS} 0"}],
	)
	async for _ in stream:
		pass


def measure_server(home: Path, base_url: str) -> None:
	from huf.embedded.tests.server_test import Server

	server = Server(home, find_free_port(), HUF_ADMIN_PASSWORD=PASSWORD)
	try:
		cookie = server.login(PASSWORD)
		make_clock(server, cookie, CLOCK, base_url)
		session = {"Cookie": cookie, "X-Frappe-CSRF-Token": server.csrf_token(cookie)}
		Reader(server.url, session, "1 0").read()
		print_first(server.url, session)
		print_many(server.url, session)
		# A separate model process, so that it does not delay the other one.
		with other_process(serve_clock) as long_url:
			make_clock(server, cookie, LONG, long_url)
			print_steady_stream(server.url, session)
	finally:
		server.stop()


def make_clock(server, cookie: str, name: str, base_url: str) -> None:
	"""Make an agent `name` with a model at `base_url`."""
	for doctype, values in (
		("AI Provider", {"provide_name": name, "api_key": SECRET, "api_base": base_url}),
		("AI Model", {"model_name": name.lower(), "provider": name, "own_prices": 1}),
		("Agent", {"agent_name": name, "model": name.lower()}),
	):
		server.call(f"/api/resource/{doctype.replace(' ', '%20')}", values, cookie)


class Reader:
	"""Reads one stream; `delays`: seconds from sending the last chunk of a text to its arrival here."""

	def __init__(self, url: str, session: dict, prompt: str, agent: str = CLOCK, source: str | None = None):
		self.host, self.session, self.prompt, self.agent = url.removeprefix("http://"), session, prompt, agent
		self.source = (source, 0) if source else None
		self.arrivals: list[float] = []
		self.delays: list[float] = []
		self.chunks = 0

	def read(self) -> None:
		connection = HTTPConnection(self.host, timeout=60, source_address=self.source)
		headers = {"Content-Type": "application/json", **self.session}
		body = json.dumps({"agent": self.agent, "prompt": self.prompt})
		connection.request("POST", "/api/method/huf.api.chat.stream", body, headers)
		kind = ""
		for line in connection.getresponse():
			now = time.monotonic()
			if line.startswith(b"event: "):
				kind = line[7:].strip().decode()
			elif kind == "text_delta" and line.startswith(b"data: "):
				self.take(json.loads(line[6:])["text"].split(), now)
		connection.close()

	def take(self, sent: list[str], now: float) -> None:
		self.arrivals.append(now)
		self.delays.append(now - float(sent[-1]))
		self.chunks += len(sent)

	@property
	def silence(self) -> float:
		return max(b - a for a, b in zip(self.arrivals, self.arrivals[1:], strict=False))


def print_first(url: str, session: dict) -> None:
	delays = []
	for _ in range(FIRST_ROUNDS):
		reader = Reader(url, session, "2 0.05")
		reader.read()
		delays.append(reader.delays[0] * 1000)
	worst = sorted(delays)[int(FIRST_ROUNDS * 0.9)]
	print(
		f"first text after the model's first chunk    {statistics.median(delays):8.1f} ms   90% {worst:.1f} ms (target 15)"
	)


def print_many(url: str, session: dict) -> None:
	readers = [Reader(url, session, f"{PACED} {PAUSE_S}") for _ in range(STREAMS)]
	threads = [threading.Thread(target=each.read) for each in readers]
	began = time.monotonic()
	for thread in threads:
		thread.start()
	for thread in threads:
		thread.join()
	complete = sum(each.chunks == PACED for each in readers)
	delays = sorted(delay * 1000 for each in readers for delay in each.delays)
	waited = max(each.arrivals[0] for each in readers) - began
	silence = max(each.silence for each in readers)
	print(
		f"{STREAMS} streams at once, {1 / PAUSE_S:.0f} chunks a second each  {complete:8} whole (target {STREAMS})"
	)
	print(
		f"  text after the model's chunk              {statistics.median(delays):8.1f} ms   99% {delays[int(len(delays) * 0.99)]:.1f} ms"
	)
	print(
		f"  the last one begins after                 {waited:8.2f} s    longest silence of one {silence:.2f} s (target 1)"
	)


def print_steady_stream(url: str, session: dict) -> None:
	"""Print the worst delay of a steady stream, alone and while another process reads long answers."""
	alone = read_steady(url, session)
	with other_process(read_long_answers, url, session):
		under_load = read_steady(url, session)
	p99 = under_load[int(len(under_load) * 0.99)]
	print(f"a steady stream, its text after the chunk   {alone[-1]:8.1f} ms at worst, alone")
	print(
		f"  beside answers of {CHUNKS} chunks             {under_load[-1]:8.1f} ms at worst, 99% {p99:.1f} ms (target 20)"
	)


def read_steady(url: str, session: dict) -> list[float]:
	"""Delays of the texts in milliseconds, sorted."""
	reader = Reader(url, session, f"{STEADY} {STEADY_PAUSE_S}")
	reader.read()
	return sorted(delay * 1000 for delay in reader.delays)


def read_long_answers(connection, url: str, session: dict) -> None:
	"""Read long answers one after another until stopped, and print their number."""
	connection.send("reading")
	began, count = time.monotonic(), 0
	while not connection.poll():
		Reader(url, session, f"{CHUNKS} 0", LONG).read()
		count += 1
	print(f"{count} answers of {CHUNKS} chunks were read in {time.monotonic() - began:.1f} s", flush=True)
