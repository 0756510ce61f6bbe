"""Heavy packages are imported only by processes that use them."""

import json
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from huf.embedded.tests.sites import PASSWORD, make_site
from huf.tests.model_server import ModelServer, text, tool_call

HEAVY = ("litellm", "agents", "openai", "aiohttp")
SERVE = """
import sys, huf.embedded
huf.embedded.install()
import frappe, frappe.app
from werkzeug.test import Client
from huf.embedded import site

frappe.app._site, frappe.app._sites_path = site.SITE, sys.argv[1] + "/sites"
client = Client(frappe.app.application)
client.post("/api/method/login", data={"usr": "Administrator", "pwd": sys.argv[2]})
paths = ("/huf", "/api/method/huf.api.agent.get_agents", "/api/resource/Agent")
for path in (*paths, "/api/method/huf.api.chat.get_conversations"):
	assert client.get(path).status_code in (200, 404), path
import huf.ai.agent_integration, huf.api.chat
"""

RUN = """
import sys, huf.embedded
huf.embedded.install()
from huf.embedded import site
from frappe.site_local import opened

base_url = sys.argv[2]
with opened(site.SITE, sys.argv[1] + "/sites"):
	import frappe
	from huf.ai.agent_integration import run_agent_sync
	from huf.tests.factories import make

	frappe.set_user("Administrator")
	if base_url:
		make("AI Provider", provide_name="Own", api_key="sk-test", api_base=base_url)
		make("AI Model", model_name="own", provider="Own")
		tool = {"tool_name": "find_todos", "types": "Get List", "description": "ToDos"}
		make("Agent Tool Function", reference_doctype="ToDo", **tool)
		make("Agent", agent_name="Own", model="own", agent_tool=[{"tool": "find_todos"}])
		frappe.db.commit()
	result = run_agent_sync("Own", "Which ToDos are there?")
	assert result["response"] == "None.", result
"""


class TestLazyImports(unittest.TestCase):
	def test_importing_huf_loads_no_heavy_packages(self):
		self.assertEqual(self.list_imported("import huf"), [])

	def test_web_worker_without_model_calls_loads_no_model_client(self):
		self.assertEqual(self.list_imported(SERVE, self.make_home(), PASSWORD), [])

	def test_the_script_that_takes_pictures_can_be_imported(self):
		command = [sys.executable, "-c", "import huf.embedded.tests.pictures"]
		self.assertEqual(subprocess.run(command, capture_output=True, text=True, timeout=120).stderr, "")

	def test_bench_worker_loads_litellm_and_bench_migrate_does_not(self):
		read = "import sys, huf.embedded; huf.embedded.install(); sys.argv[1:] = {}; import huf.commands"
		self.assertEqual(self.list_imported(read.format(["frappe", "migrate"])), [])
		self.assertIn("litellm", self.list_imported(read.format(["frappe", "worker", "--queue", "long"])))

	def test_a_run_loads_neither_litellm_nor_the_sdk(self):
		home = self.make_home()
		with ModelServer() as server:
			server.script(*[tool_call("find_todos", {}), text("None.")] * 2)
			for base_url in (server.base_url, ""):
				self.assertEqual(self.list_imported(RUN, home, base_url), ["aiohttp"])
			sent = [json.loads(body) | {"messages": None} for body in server.bodies]
			self.assertEqual([list(sent[0].items())] * 4, [list(each.items()) for each in sent])

	def make_home(self) -> str:
		home = tempfile.mkdtemp(prefix="huf-test-")
		self.addCleanup(shutil.rmtree, home, ignore_errors=True)
		make_site(Path(home))
		return home

	def list_imported(self, code: str, *arguments: str) -> list[str]:
		"""The heavy packages that are loaded after this code has run in a new process."""
		code += f"\nimport sys; print([name for name in {HEAVY!r} if name in sys.modules])"
		root = Path(__file__).resolve().parents[3]
		done = subprocess.run(
			[sys.executable, "-c", code, *arguments], capture_output=True, text=True, cwd=root, check=False
		)
		self.assertEqual(done.returncode, 0, done.stderr)
		return eval(done.stdout.strip().splitlines()[-1])
