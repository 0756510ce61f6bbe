"""One worker process with many runs that wait for a slow model: `huf-worker --waiting N`.

	cd sites; HUF_TEST_SITE=SITE HUF_TEST_SITES=. python -m huf.tests.benchmarks waiting_runs 200

The number is the number of runs. Needs a bench with MariaDB whose SITE has no other workers.
"""

import statistics
import time
from pathlib import Path

import frappe

from huf.tests.benchmarks.workers import (
	WRITES,
	count_ended,
	count_writes,
	list_children,
	processes,
	queue_runs,
	quick_agent,
)

MODEL_S = 5.0
TIMEOUT_S = 300
WAITING = "select count(*) from `tabAgent LLM Call` where run in %s and status = 'Started'"
CONNECTIONS = "select count(*) from information_schema.processlist where db = database()"


def measure(runs: int = 200) -> None:
	print(f"{runs} runs of {WRITES} writes, each model call takes {MODEL_S:.0f} s, one process", flush=True)
	with quick_agent() as agent:
		for options in (("--waiting", str(runs)), ("--threads", str(runs))):
			report(queue_runs(agent, runs, MODEL_S), options)


def report(runs: list[str], options: tuple[str, ...]) -> None:
	began, own_connections = time.monotonic(), read_number(CONNECTIONS)
	samples = [(0, 0, 0.0, 0)]
	with processes(1, *options) as parents:
		while count_ended(runs) < len(runs):
			waiting, connections = (
				read_number(WAITING, (tuple(runs),)),
				read_number(CONNECTIONS) - own_connections,
			)
			for child in list_children(parents[0]):
				samples.append(
					(waiting, connections, read_status(child, "VmRSS") / 1024, read_status(child, "Threads"))
				)
			assert time.monotonic() - began < TIMEOUT_S, "nothing happens any more"
			time.sleep(0.25)
		seconds = time.monotonic() - began
	waiting, connections, memory, threads = zip(*samples, strict=True)
	writes = count_writes(runs)
	print(
		f"{' '.join(options)}: at most {max(waiting)} runs wait at a time with {max(connections)} connections",
		end=" ",
	)
	print(
		f"(median {statistics.median(connections):.0f}), {max(threads)} threads and {max(memory):.0f} MB",
		end=" ",
	)
	print(
		f"({memory[1]:.0f} MB at first). All have ended after {seconds:.0f} s, {(WRITES + 1) * MODEL_S:.0f} s",
		end=" ",
	)
	print(f"of these for the model. {len(runs) * WRITES - len(writes)} writes lost, ", end="")
	print(f"{sum(writes.values()) - len(writes)} made twice", flush=True)


def read_status(process: int, name: str) -> int:
	"""A number from /proc/PID/status; memory in KB."""
	lines = Path(f"/proc/{process}/status").read_text().splitlines()
	return next(int(line.split()[1]) for line in lines if line.startswith(f"{name}:"))


def read_number(query: str, values: tuple = ()) -> int:
	frappe.db.rollback()
	return frappe.db.sql(query, values)[0][0]
