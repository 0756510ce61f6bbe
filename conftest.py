"""pytest runs on an embedded site of its own, a new one in each run and each pytest-xdist process.

HUF_TEST_SITE names a site of a real bench instead; HUF_TEST_SITES is the bench's folder `sites`.
"""

import os
import shutil
import sys
import tempfile
import time
from pathlib import Path

import pytest

os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")

import huf.embedded  # noqa: E402 (the environment comes first)

REAL_SITE = os.environ.get("HUF_TEST_SITE")
LONG = ("huf/tests/crash/", "huf/tests/security/")
_home: Path | None = None

if not REAL_SITE:
	huf.embedded.install()


def pytest_configure(config):
	has_workers = getattr(config.option, "numprocesses", None) and not config.option.collectonly
	if not has_workers or hasattr(config, "workerinput"):
		open_site()
	elif not REAL_SITE:
		from huf.embedded.tests.sites import make_template

		make_template()


def open_site():
	"""Connect this process to the site the tests run on, as Administrator."""
	global _home
	import frappe

	if REAL_SITE:
		sites = os.environ.get("HUF_TEST_SITES", ".")
		os.chdir(sites)
		frappe.init(site=REAL_SITE, sites_path=".")
	else:
		from huf.embedded import site
		from huf.embedded.tests.sites import make_site

		_home = Path(tempfile.mkdtemp(prefix="huf-test-"))
		make_site(_home)
		frappe.init(site.SITE, sites_path=str(_home / "sites"), force=True)
	frappe.connect()
	frappe.flags.in_test = True


def pytest_unconfigure(config):
	if _home:
		import frappe

		frappe.destroy()
		shutil.rmtree(_home, ignore_errors=True)


def pytest_collection_modifyitems(items):
	"""Tests of pages come first, so that each process starts its browser once.

	Next are long tests: if they came last, one process would work on them while the others have none left.
	"""
	items.sort(key=lambda item: (not is_page_test(item), not item.nodeid.startswith(LONG)))


def is_page_test(item) -> bool:
	return item.get_closest_marker("browser") is not None


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(item, nextitem):
	"""Close the browser before other tests, which may run an event loop in this thread."""
	browser = sys.modules.get("huf.embedded.tests.browser")
	if browser and not (nextitem and is_page_test(nextitem)):
		browser.close_browser()


def pytest_terminal_summary(terminalreporter):
	"""Why tests of pages were tried again, and what scripts/test measured besides."""
	for report in terminalreporter.stats.get("rerun", ()):
		terminalreporter.section(f"first try of {report.nodeid}")
		terminalreporter.write_line(f"{report.longreprtext}\n{report.capstdout}")
	if started := os.environ.get("HUF_TESTS_STARTED"):
		terminalreporter.write_line(f"contract with real Frappe: {os.environ['HUF_CONTRACT_FIGURE']}")
		terminalreporter.write_line(f"everything took {time.time() - int(started):.0f} s")
