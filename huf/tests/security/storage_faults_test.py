"""A full disk or a locked or damaged database: one clear message, no partial writes, and no crash."""

import contextlib
import io
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
import unittest
from functools import partial
from pathlib import Path
from unittest import mock

import frappe
from click.testing import CliRunner
from frappe.database import connection, idle
from frappe.utils.jobs_db import SharedConnection

from huf.embedded import site
from huf.embedded.cli import cli
from huf.embedded.tests.sites import PASSWORD, Browser, SiteTestCase
from huf.tests.ports import find_free_port

HUF = [sys.executable, "-m", "huf.embedded"]


@contextlib.contextmanager
def full_disk():
	"""Connections that are opened in this context have no room for another database page."""
	connect = connection.connect

	def connect_to_full(*arguments):
		opened = connect(*arguments)
		pages = opened.execute("pragma page_count").fetchone()[0]
		opened.execute(f"pragma max_page_count = {pages}")
		return opened

	with new_connections(), mock.patch.object(connection, "connect", connect_to_full):
		yield


@contextlib.contextmanager
def new_connections():
	"""Open new connections in this context, and do not reuse them afterwards."""
	with (
		mock.patch.object(idle, "take", return_value=None),
		mock.patch.object(idle, "give", lambda _file, used: used.close()),
	):
		yield


class TestFaults(SiteTestCase):
	def assert_sentence(self, answer, status: int, words: str):
		self.assertEqual(answer.status_code, status, answer.text)
		self.assertIn(words, answer.text)
		self.assertNotIn("Traceback", answer.text)

	def lock_database(self):
		other = sqlite3.connect(Path(self.sites_path, frappe.local.site, "site.db"), isolation_level=None)
		other.execute("begin immediate")
		self.addCleanup(other.close)
		return other

	def test_a_locked_database_returns_503_after_one_timeout(self):
		browser = self.admin()
		other = self.lock_database()
		with new_connections(), mock.patch.object(connection, "BUSY_TIMEOUT", 0.5):
			began = time.perf_counter()
			answer = browser.post("/api/resource/Note", json={"title": "later"})
			self.assert_sentence(answer, 503, "busy")
			self.assertLess(time.perf_counter() - began, 10)
			page = Browser().open("/api/method/login", "POST", data={"usr": "Administrator", "pwd": PASSWORD})
			self.assert_sentence(page, 503, "busy")
		other.execute("rollback")
		self.assertEqual(browser.post("/api/resource/Note", json={"title": "later"}).status_code, 200)

	def test_reads_do_not_wait_for_the_update_of_the_session(self):
		browser = self.admin()
		frappe.db.sql(
			"update tabSessions set sessiondata = json_set(sessiondata, '$.last_updated', '2020-01-01')"
		)
		frappe.db.commit()
		self.lock_database()
		began = time.perf_counter()
		answer = browser.open("/api/method/frappe.auth.get_logged_user")
		self.assertEqual(answer.status_code, 200, answer.text)
		self.assertLess(time.perf_counter() - began, 10)

	def test_a_full_disk_returns_507_and_reads_still_work(self):
		browser = self.admin()
		with full_disk():
			note = {"title": "x", "content": "word " * 100_000}
			self.assert_sentence(browser.post("/api/resource/Note", json=note), 507, "disk is full")
			page = browser.open("/api/resource/Note", headers={"Accept": "text/html"})
			self.assertEqual(page.status_code, 200)
		self.assertEqual(browser.post("/api/resource/Note", json=note).status_code, 200)

	def test_an_upload_to_a_full_disk_leaves_nothing_behind(self):
		browser = self.admin()
		folder = Path(frappe.get_site_path("private", "files"))

		def fail_to_write(path, content):
			with open(path, "wb"):
				raise OSError(28, "No space left on device", str(path))

		before = sorted(folder.iterdir())
		file = {"file": (io.BytesIO(b"content"), "new.txt"), "is_private": "1"}
		with mock.patch.object(Path, "write_bytes", fail_to_write):
			self.assert_sentence(browser.post("/api/method/upload_file", data=file), 507, "disk is full")
		self.assertEqual(sorted(folder.iterdir()), before)

	def test_an_upload_whose_commit_fails_leaves_nothing_behind(self):
		browser = self.admin()
		folder = Path(frappe.get_site_path("private", "files"))
		before, run = sorted(folder.iterdir()), connection.Connection._run

		def fail_to_commit(self, query, parameters=()):
			if query == "COMMIT":
				raise sqlite3.OperationalError("database or disk is full")
			return run(self, query, parameters)

		file = {"file": (io.BytesIO(b"content"), "other.txt"), "is_private": "1"}
		with mock.patch.object(connection.Connection, "_run", fail_to_commit):
			self.assert_sentence(browser.post("/api/method/upload_file", data=file), 507, "disk is full")
		self.assertEqual(sorted(folder.iterdir()), before)

	def test_an_error_that_cannot_be_logged_is_still_answered(self):
		browser = self.admin()
		with (
			mock.patch.object(frappe, "log_error", side_effect=sqlite3.OperationalError("disk I/O error")),
			contextlib.redirect_stderr(io.StringIO()) as output,
		):
			answer = browser.open("/api/method/huf.embedded.tests.samples.fail")
		self.assertEqual((answer.status_code, answer.json["exc_type"]), (500, "RuntimeError"))
		self.assertIn("no Error Log", output.getvalue())

	def test_pages_report_a_damaged_database(self):
		browser = self.admin()
		with mock.patch(
			"frappe.app.dispatch", side_effect=sqlite3.DatabaseError("database disk image is malformed")
		):
			answer = browser.open("/huf", headers={"Accept": "text/html"})
		self.assert_sentence(answer, 500, "restore")


class TestStart(unittest.TestCase):
	def setUp(self):
		self.home = Path(tempfile.mkdtemp(prefix="huf-test-"))
		self.addCleanup(shutil.rmtree, self.home, ignore_errors=True)

	def start(self, home: Path) -> str:
		command = [*HUF, "--home", str(home), "start", "--port", str(find_free_port())]
		environment = {**os.environ, "HUF_ADMIN_PASSWORD": PASSWORD}
		result = subprocess.run(command, capture_output=True, text=True, timeout=60, env=environment)
		self.assertEqual(result.returncode, 1, result.stdout)
		self.assertNotIn("Traceback", result.stderr)
		self.assertEqual(len(result.stderr.strip().splitlines()), 1, result.stderr)
		return result.stderr

	def make_site(self) -> Path:
		command = [*HUF, "--home", str(self.home), "init"]
		subprocess.run(command, check=True, capture_output=True, timeout=60)
		return site.site_path(self.home)

	def test_start_in_a_path_below_a_file_is_refused(self):
		file = self.home / "file"
		file.touch()
		self.assertIn("A file is where this folder should be", self.start(file / "below"))

	def test_start_on_an_unwritable_site_is_refused(self):
		self.make_site()
		with mock.patch.object(os, "access", side_effect=lambda _path, mode, **_options: mode != os.W_OK):
			result = CliRunner().invoke(
				cli, ["--home", str(self.home), "start", "--port", str(find_free_port())]
			)
		self.assertEqual(result.exit_code, 1)
		self.assertIn("cannot be written", result.output)

	@unittest.skipIf(os.name == "posix" and os.geteuid() == 0, "root writes everywhere")
	def test_start_in_a_read_only_folder_is_refused(self):
		self.home.chmod(0o555)
		self.addCleanup(self.home.chmod, 0o755)
		self.assertIn("cannot be written", self.start(self.home / "below"))

	def test_start_with_a_damaged_database_is_refused(self):
		for name in ("site.db", "jobs.db"):
			folder = self.make_site()
			for left in folder.glob(f"{name}-*"):
				left.unlink()
			(folder / name).write_bytes(b"no database " * 1000)
			self.assertIn("damaged", self.start(self.home))
			shutil.rmtree(self.home)

	def test_start_with_a_queue_of_which_only_the_first_page_is_whole_is_refused(self):
		file = self.make_site() / "jobs.db"
		jobs = SharedConnection(str(file))
		jobs.execute("PRAGMA journal_mode = DELETE")
		jobs.db.close()
		with file.open("r+b") as content:
			content.seek(4096)
			content.write(b"no page " * (file.stat().st_size // 8 - 512))
		self.assertIn("damaged", self.start(self.home))

	@unittest.skipIf(os.name != "posix", "limits of a process are POSIX")
	def test_a_disk_without_room_for_the_files_beside_the_database_is_not_called_a_damaged_database(self):
		self.make_site()
		import resource

		command = [*HUF, "--home", str(self.home), "packs"]
		limit = partial(resource.setrlimit, resource.RLIMIT_FSIZE, (20_000, 20_000))
		result = subprocess.run(command, capture_output=True, text=True, timeout=60, preexec_fn=limit)
		self.assertEqual(result.returncode, 1, result.stdout)
		self.assertIn("Free some space if it is full", result.stderr)
		self.assertNotIn("damaged", result.stderr)

	def test_start_with_an_invalid_site_configuration_is_refused(self):
		file = self.make_site() / "site_config.json"
		file.write_text('{"time_zone": "Europe/Berln"}')
		self.assertIn("'Europe/Berln' is not a time_zone", self.start(self.home))
		file.write_text("{broken")
		self.assertIn("not valid JSON", self.start(self.home))

	def test_start_without_configuration_or_database_is_refused_and_deletes_nothing(self):
		folder = self.make_site()
		for name in ("site_config.json", "site.db"):
			content = (folder / name).read_bytes()
			(folder / name).unlink()
			left = sorted(file.name for file in folder.iterdir())
			self.assertIn(f"{name} is missing", self.start(self.home))
			self.assertEqual(sorted(file.name for file in folder.iterdir()), left)
			(folder / name).touch()
			self.assertIn(f"{name} is missing or empty", self.start(self.home))
			(folder / name).write_bytes(content)

	def test_a_machine_without_time_zone_data_opens_a_site_that_names_no_zone(self):
		self.make_site()
		command, environment = [*HUF, "--home", str(self.home), "packs"], {**os.environ, "PYTHONTZPATH": ""}
		result = subprocess.run(command, capture_output=True, text=True, timeout=60, env=environment)
		self.assertEqual((result.returncode, result.stderr), (0, ""))
