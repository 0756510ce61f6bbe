"""Runs benchmarks on a fresh embedded site, or on the site HUF_TEST_SITE of a bench.

	python -m huf.tests.benchmarks [NAME [NUMBER] ...]

`soak` takes its seconds; `workers` two numbers of runs and `waiting_runs` one, and both need a bench.
"""

import os
import sys
import tempfile
from importlib import import_module
from pathlib import Path

os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")

BENCHMARKS = (
	"load",
	"floor",
	"table_size",
	"http",
	"run_cost",
	"journal_cost",
	"save_cost",
	"streaming",
	"knowledge",
	"search",
	"mcp",
	"masking",
	"queue",
	"ui",
)
ON_DEMAND = ("peers", "agentdojo", "local_model", "soak", "workers", "waiting_runs")
"""Benchmarks that need other packages than Huf or take long."""


def main(names: list[str]) -> None:
	chosen = read_names(names) or [[name] for name in BENCHMARKS]
	with tempfile.TemporaryDirectory(prefix="huf-bench-") as home:
		open_site(Path(home))
		for name, *numbers in chosen:
			module = import_module(f"huf.tests.benchmarks.{name}")
			print(f"\n{name}: {module.__doc__.splitlines()[0]}\n")
			module.measure(*map(int, numbers))
		import frappe

		frappe.destroy()


def read_names(arguments: list[str]) -> list[list[str]]:
	"""Group the arguments: each name with the numbers that follow it. Exits if there is no such benchmark."""
	groups: list[list[str]] = []
	for each in arguments:
		if each.isdigit() and groups:
			groups[-1].append(each)
		elif each in (*BENCHMARKS, *ON_DEMAND):
			groups.append([each])
		else:
			sys.exit(f"There is no benchmark {each}. Choose from: {', '.join((*BENCHMARKS, *ON_DEMAND))}.")
	return groups


def open_site(home: Path) -> None:
	if bench_site := os.environ.get("HUF_TEST_SITE"):
		import frappe

		os.chdir(os.environ.get("HUF_TEST_SITES", "."))
		frappe.init(site=bench_site, sites_path=".")
	else:
		import huf.embedded

		huf.embedded.install()
		import frappe

		from huf.embedded import site

		site.create(home, "admin")
		frappe.init(site.SITE, sites_path=str(home / "sites"), force=True)
	frappe.connect()


if __name__ == "__main__":
	main(sys.argv[1:])
