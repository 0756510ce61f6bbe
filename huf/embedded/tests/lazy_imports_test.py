"""What a process pays for only when it uses it."""

import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

HEAVY = ("litellm", "agents", "openai", "aiohttp")
SERVE = """
import sys, huf.embedded
huf.embedded.install()
import frappe, frappe.app
from pathlib import Path
from werkzeug.test import Client
from huf.embedded import site

site.create(Path(sys.argv[1]), "a good password 7")
frappe.app._site, frappe.app._sites_path = site.SITE, sys.argv[1] + "/sites"
client = Client(frappe.app.application)
client.post("/api/method/login", data={"usr": "Administrator", "pwd": "a good password 7"})
for path in ("/huf", "/api/method/huf.api.agent.get_agents", "/api/resource/Agent", "/api/method/huf.api.chat.get_conversations"):
	assert client.get(path).status_code in (200, 404), path
import huf.ai.agent_integration, huf.api.chat
"""


class TestLazyImports(unittest.TestCase):
	def test_importing_huf_imports_nothing_else(self):
		self.assertEqual(self.imported("import huf"), [])

	def test_a_web_worker_that_called_no_model_has_imported_no_client_of_one(self):
		home = tempfile.mkdtemp(prefix="huf-test-")
		self.addCleanup(shutil.rmtree, home, ignore_errors=True)
		self.assertEqual(self.imported(SERVE, home), [])

	def test_of_bench_s_commands_only_a_worker_loads_what_runs_need(self):
		read = "import sys, huf.embedded; huf.embedded.install(); sys.argv[1:] = {}; import huf.commands"
		self.assertEqual(self.imported(read.format(["frappe", "migrate"])), [])
		self.assertIn("litellm", self.imported(read.format(["frappe", "worker", "--queue", "long"])))

	def imported(self, code: str, *arguments: str) -> list[str]:
		"""Which of the heavy packages are loaded after this code has run in a process of its own."""
		code += f"\nimport sys; print([name for name in {HEAVY!r} if name in sys.modules])"
		root = Path(__file__).resolve().parents[3]
		done = subprocess.run(
			[sys.executable, "-c", code, *arguments], capture_output=True, text=True, cwd=root, check=False
		)
		self.assertEqual(done.returncode, 0, done.stderr)
		return eval(done.stdout.strip().splitlines()[-1])
