"""The official MCP conformance suite at the newest revision, against `huf start` and Huf's own client.

The suite is an npm package; the tests are skipped offline.
"""

import json
import sys
import tempfile
import threading
import unittest
from pathlib import Path
from socketserver import StreamRequestHandler, ThreadingTCPServer

import requests

from huf.embedded.tests.sites import PASSWORD, isolated, make_site
from huf.embedded.tests.warm_servers import WarmServer
from huf.tests.api.test_mcp_oauth import decide, sign_in
from huf.tests.base import enter
from huf.tests.mcp_conformance_client import run_scenario
from huf.tests.mcp_fixture.pack import install_pack
from huf.tests.npm import TIMEOUT_S, install_package, run_node, start_node
from huf.tests.ports import find_free_port

VERSION = "0.2.0-alpha.12"
REVISION = "2026-07-28"
PACKAGE = "@modelcontextprotocol/conformance"
RELAY = Path(__file__).parents[1] / "mcp_conformance_relay.py"
SKILLS = ("sep-2640-skills-enumeration", "sep-2640-skills-manifest")
SIGN_IN = {"authorization-server-metadata", "authorization-server-metadata-cimd", "authorization-code-grant"}
EXCUSED = {
	"sep-2663-tasks-get-status-failed": "Needs a tool that breaks the protocol; here a tool's error is its result.",
	"tasks-mrtr-partial-fulfillment": "Needs two questions at once; a run asks one at a time.",
	"sep-2663-mrtr-synchronous-before-task-creation": "Needs a question before the task; a task asks itself.",
}
"""{id: reason} of checks of the tasks extension that do not apply; none of them is required."""


class SuiteTestCase(unittest.TestCase):
	def setUp(self):
		self.cli = install_package(PACKAGE, VERSION) / "dist" / "index.js"
		self.results = Path(enter(self, tempfile.TemporaryDirectory()))

	def read_checks(self) -> list[dict]:
		"""Return the results of all checks, and fail if one failed that is not in EXCUSED."""
		checks = [
			check | {"scenario": path.parent.name}
			for path in sorted(self.results.rglob("checks.json"))
			for check in json.loads(path.read_text())
		]
		failed = [c for c in checks if c["status"] == "FAILURE" and c["id"] not in EXCUSED]
		self.assertEqual(failed, [], json.dumps(failed, indent=1))
		return checks


class StartedTestCase(SuiteTestCase):
	"""Runs `huf start` on a site whose fixture pack has the tools that the suite calls."""

	@classmethod
	def setUpClass(cls):
		home = Path(enter(cls, tempfile.TemporaryDirectory(ignore_cleanup_errors=True)))
		make_site(home)
		slug = isolated(install_pack, home)
		cls.server = WarmServer(home, find_free_port())
		cls.addClassCleanup(cls.server.stop)
		cls.url = f"{cls.server.url}/mcp/{slug}"


class TestConformance(StartedTestCase):
	def run_suite(self, *arguments: str) -> list[dict]:
		done = run_node(self.cli, "server", "--url", self.url, *arguments, "-o", str(self.results))
		checks = self.read_checks()
		self.assertEqual(done.returncode, 0, done.stdout[-4000:])
		return checks

	def test_every_required_server_scenario_passes(self):
		self.run_suite("--requirements", REVISION)

	def test_skills_pass_without_warnings(self):
		for scenario in SKILLS:
			with self.subTest(scenario):
				checks = self.run_suite("--scenario", scenario)
				odd = [c for c in checks if c["status"] not in ("SUCCESS", "INFO")]
				self.assertEqual(odd, [], json.dumps(odd, indent=1))


class Scenarios(StreamRequestHandler):
	def handle(self):
		self.wfile.write(run_scenario(**json.loads(self.rfile.readline())).encode())


class TestClient(SuiteTestCase):
	"""Huf's own client against the suite's servers."""

	def test_every_required_client_scenario_passes(self):
		clients = enter(self, ThreadingTCPServer(("127.0.0.1", 0), Scenarios))
		threading.Thread(target=clients.serve_forever, args=(0.02,), daemon=True).start()
		self.addCleanup(clients.shutdown)
		command = f"{sys.executable} -S -E {RELAY} {clients.server_address[1]}"
		options = ("--requirements", REVISION, "--timeout", "120000")
		done = run_node(self.cli, "client", "--command", command, *options)
		self.assertEqual(done.returncode, 0, done.stdout[-4000:])
		self.assertGreater(done.stdout.count(", 0 failed"), 30, done.stdout)


class TestAuthorization(StartedTestCase):
	"""The suite is an OAuth client; the test plays the user's browser."""

	def test_the_authorization_server_passes(self):
		port, base = find_free_port(), self.server.url
		registered = requests.post(
			f"{base}/mcp-oauth/register",
			json={
				"client_name": "Suite",
				"redirect_uris": [f"http://127.0.0.1:{port}/callback"],
				"token_endpoint_auth_method": "none",
			},
		).json()
		command = [self.cli, "authorization", "--url", f"{base}/mcp-oauth", "--resource", self.url]
		command += ["--client-id", registered["client_id"], "-p", str(port), "-o", str(self.results)]
		suite = start_node(*command)
		self.addCleanup(suite.stdout.close)
		self.addCleanup(suite.kill)
		address = next(line.strip() for line in suite.stdout if "/authorize?" in line)
		browser = sign_in(base, "Administrator", PASSWORD)
		requests.get(decide(browser, address, "allow")).raise_for_status()
		suite.wait(TIMEOUT_S)
		checks = self.read_checks()
		odd = [each for each in checks if each["status"] != "SUCCESS"]
		self.assertEqual((odd, suite.returncode), ([], 0), json.dumps(odd, indent=1))
		self.assertEqual({each["id"] for each in checks}, SIGN_IN)
