"""The command `huf` in real processes: starting twice, taken ports, passwords, API keys and stopping."""

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.error
import urllib.request
from collections.abc import Iterable
from pathlib import Path

import requests
import simple_websocket

from huf.embedded.server import CannotStart, only_server
from huf.embedded.tests.sites import allow_tests
from huf.tests.ports import find_free_port

PYTHON = [sys.executable, "-m", "huf.embedded"]


class Server:
	"""`huf start` in a new process; `output` is what it has printed until it was ready.

	`within` is a command that takes the server's command as its arguments.
	"""

	def __init__(self, home: Path, port: int, within: tuple[str, ...] = (), **environment):
		self.url, self.began, self.output = f"http://127.0.0.1:{port}", time.perf_counter(), ""
		self.tokens: dict[str, str] = {}
		command = [*within, *PYTHON, "--home", str(home), "start", "--port", str(port)]
		environment = {**os.environ, "PYTHONUNBUFFERED": "1", **environment}
		self.process = subprocess.Popen(
			command,
			stdout=subprocess.PIPE,
			stderr=subprocess.STDOUT,
			text=True,
			env=environment,
			start_new_session=True,
		)
		self.read_until_ready(self.process.stdout)
		self.has_samples = not within
		if self.has_samples:
			allow_tests(home)

	def read_until_ready(self, lines: Iterable[str]) -> None:
		for line in lines:
			self.output += line
			if "is ready at" in line:
				break
		self.seconds = time.perf_counter() - self.began

	def call(self, path, data=None, cookie=None):
		request = urllib.request.Request(self.url + path, data and json.dumps(data).encode())
		request.add_header("Content-Type", "application/json")
		request.add_header("Cookie", cookie or "")
		if data and cookie:
			request.add_header("X-Frappe-CSRF-Token", self.csrf_token(cookie))
		return urllib.request.urlopen(request, timeout=40)

	def csrf_token(self, cookie: str) -> str:
		"""The CSRF token of a session, which each changing request needs."""
		if cookie not in self.tokens:
			path = "/api/method/huf.embedded.tests.samples.csrf_token" if self.has_samples else "/huf"
			text = self.call(path, cookie=cookie).read().decode()
			self.tokens[cookie] = re.search(r'"(?:message|csrf_token)": ?"(\w+)"', text)[1]
		return self.tokens[cookie]

	def login(self, password, user="Administrator"):
		answer = self.call("/api/method/login", {"usr": user, "pwd": password})
		return re.search(r"sid=\w+", str(answer.headers)).group()

	def stop(self) -> float:
		"""Seconds it took to end on SIGTERM."""
		began = time.perf_counter()
		self.process.send_signal(signal.SIGTERM)
		self.process.wait(60)
		self.process.stdout.close()
		return time.perf_counter() - began


@unittest.skipIf(sys.platform == "win32", "signals of another process are POSIX")
class TestServer(unittest.TestCase):
	@classmethod
	def setUpClass(cls):
		cls.home, cls.port = Path(tempfile.mkdtemp(prefix="huf-test-")), find_free_port()
		cls.addClassCleanup(shutil.rmtree, cls.home, ignore_errors=True)
		first = Server(cls.home, cls.port, HUF_ADMIN_PASSWORD="")
		cls.first_output, cls.first_seconds = first.output, first.seconds
		first.stop()
		cls.server = Server(cls.home, cls.port)
		cls.addClassCleanup(cls.server.stop)
		cls.password = re.search(r"Password\s+(\S+)", cls.first_output).group(1)

	def run_huf(self, *arguments):
		command = [*PYTHON, "--home", str(self.home), *arguments]
		return subprocess.run(command, capture_output=True, text=True, timeout=60)

	def test_the_first_start_shows_address_and_password_and_the_second_no_password(self):
		self.assertIn(f"http://127.0.0.1:{self.port}", self.first_output)
		self.assertIn("Administrator", self.first_output)
		self.assertNotIn("Password", self.server.output)
		print(f"\nfirst start ready in {self.first_seconds:.2f} s, second in {self.server.seconds:.2f} s")

	def test_generated_password_logs_in_and_is_not_stored_in_clear_text(self):
		cookie = self.server.login(self.password)
		answer = json.load(self.server.call("/api/method/frappe.auth.get_logged_user", cookie=cookie))
		self.assertEqual(answer["message"], "Administrator")
		for file in self.home.rglob("*"):
			if file.is_file():
				self.assertNotIn(self.password.encode(), file.read_bytes(), file)

	def test_a_second_server_for_the_same_home_is_refused_with_the_pid_of_the_first(self):
		result = self.run_huf("start", "--port", str(find_free_port()))
		self.assertEqual(result.returncode, 1)
		self.assertIn(str(self.server.process.pid), result.stderr)
		self.assertIn(self.server.url, result.stderr)

	def test_a_worker_that_ends_leaves_the_note_about_the_server(self):
		with tempfile.TemporaryDirectory() as home, contextlib.ExitStack() as stack:
			stack.enter_context(only_server(Path(home), "http://here", ""))
			if not (child := os.fork()):
				try:
					stack.close()
				finally:
					os._exit(0)
			os.waitpid(child, 0)
			with self.assertRaisesRegex(CannotStart, "http://here"), only_server(Path(home), "", ""):
				pass

	def test_taken_port_is_refused_with_a_suggested_port(self):
		with tempfile.TemporaryDirectory() as home:
			command = [*PYTHON, "--home", home, "start", "--port", str(self.port)]
			result = subprocess.run(command, capture_output=True, text=True, timeout=60)
		self.assertEqual(result.returncode, 1)
		self.assertIn(f"--port {self.port + 1}", result.stderr)

	def test_websocket_receives_events_of_another_process(self):
		cookie = self.server.login(self.password)
		url = f"{self.server.url.replace('http', 'ws')}/socket.io/?EIO=4&transport=websocket"
		browser = simple_websocket.Client(url, headers={"Cookie": cookie})
		self.expect(browser, "0{")
		browser.send("40/huf.localhost,")
		self.expect(browser, "40/huf.localhost,")
		arguments = json.dumps({"event": "hello", "user": "Administrator"})
		result = self.run_huf("execute", "huf.embedded.tests.samples.publish", "--kwargs", arguments)
		self.assertEqual(result.returncode, 0, result.stderr)
		self.expect(browser, '42/huf.localhost,["hello",{"from":"another process"}]')
		browser.close()

	def expect(self, browser, start: str):
		"""Wait for a message that begins with `start`; a ping or nothing may come before it."""
		received = []
		while len(received) < 10:
			received.append(browser.receive(5))
			if (received[-1] or "").startswith(start):
				return
		self.fail(f"expected {start!r}, received {received}")

	def test_a_new_password_ends_the_old_sessions(self):
		cookie = self.server.login(self.password)
		self.addCleanup(self.run_huf, "set-password", "Administrator", "--password", self.password)
		result = self.run_huf("set-password", "Administrator", "--password", "another good one 3")
		self.assertEqual(result.returncode, 0, result.stderr)
		with self.assertRaises(urllib.error.HTTPError) as refused:
			self.server.call("/api/method/frappe.auth.get_logged_user", cookie=cookie)
		refused.exception.close()
		self.assertTrue(self.server.login("another good one 3"))

	def test_new_api_key_replaces_the_previous_one(self):
		def get_status(key: str) -> int:
			headers = {"Authorization": f"Bearer {key}", "Accept": "application/json, text/event-stream"}
			body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
			return requests.post(f"{self.server.url}/mcp", json=body, headers=headers).status_code

		first = self.run_huf("api-key", "Administrator")
		self.assertEqual((first.returncode, get_status(first.stdout.strip())), (0, 200), first.stderr)
		second = self.run_huf("api-key", "Administrator")
		self.assertEqual([get_status(each.stdout.strip()) for each in (first, second)], [401, 200])
		self.assertIn("There is no user", self.run_huf("api-key", "nobody@example.com").stderr)
		self.assertIn("Guest cannot sign in", self.run_huf("api-key", "Guest").stderr)

	def test_help_and_version_need_no_site(self):
		for option, text in (("--help", "Maintain"), ("--version", "Huf 0.")):
			result = self.run_huf(option)
			self.assertIn(text, result.stdout)

	def test_server_start_imports_no_model_library_and_stop_is_quick(self):
		home = Path(tempfile.mkdtemp(prefix="huf-test-"))
		self.addCleanup(shutil.rmtree, home, ignore_errors=True)
		server = Server(
			home, find_free_port(), PYTHONPROFILEIMPORTTIME="1", HUF_ADMIN_PASSWORD="given by hand 5"
		)
		server.login("given by hand 5")
		seconds = server.stop()
		self.assertNotRegex(server.output, r"\| +(litellm|agents|openai)\n")
		self.assertLess(seconds, 5)
		print(f"\nstopped in {seconds:.2f} s")
