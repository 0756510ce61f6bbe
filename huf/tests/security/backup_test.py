"""The commands `huf backup`, `restore`, `doctor` and `rotate-keys`, also on a site under write load."""

import errno
import json
import os
import shutil
import tempfile
import threading
import time
import unittest
import zipfile
from functools import partial
from pathlib import Path
from unittest import mock

import frappe
from click.testing import CliRunner
from filelock import FileLock
from frappe.core.doctype.file.file import write_file

from huf.ai.runs.entry import run_agent_sync
from huf.embedded import backup, site
from huf.embedded.cli import cli
from huf.embedded.server import only_server
from huf.embedded.tests.sites import PASSWORD, isolated
from huf.tests.factories import SECRET, make, make_file, unique

PASSPHRASE = "violet kettle 93 moss"
MIN_FILES = 5
"""Committed before the backup under load begins."""


class TestMaintenance(unittest.TestCase):
	def setUp(self):
		self.folder = Path(tempfile.mkdtemp(prefix="huf-backup-"))
		self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
		self.home, self.file = self.folder / "home", self.folder / "site.backup"
		isolated(site.create, self.home, PASSWORD)
		isolated(self.fill)

	def fill(self):
		with site.opened(self.home):
			self.provider = make("AI Provider", provide_name=unique("Provider"), api_key=SECRET).name
			self.agent = make("Agent", agent_name=unique("Agent"), instructions="Answer.").name
			self.secret_file = make_file("note.txt", b"a private note")
			self.run_name = run_agent_sync(self.agent, "Hello")["run"]
			frappe.db.commit()

	def huf(self, *arguments: str, home: Path | None = None, passphrase: str = ""):
		environment = {"HUF_BACKUP_PASSPHRASE": passphrase}
		command = ["--home", str(home or self.home), *map(str, arguments)]
		return isolated(CliRunner().invoke, cli, command, env=environment)

	def assert_whole(self, home: Path):
		def check():
			with site.opened(home):
				self.assertEqual(frappe.get_doc("AI Provider", self.provider).get_password("api_key"), SECRET)
				self.assertEqual(frappe.get_doc("File", self.secret_file).get_content(), "a private note")
				self.assertEqual(frappe.db.get_value("Agent Run", self.run_name, "status"), "Success")
				self.assertTrue(run_agent_sync(self.agent, "Hello again")["success"])

		isolated(check)

	def test_restore_includes_apps_and_the_common_configuration(self):
		module, common = self.home / "apps/own/own/__init__.py", self.home / "sites/common_site_config.json"
		module.parent.mkdir(parents=True)
		module.write_text("x = 1\n")
		common.write_text('{"max_file_size": 1000000}')
		self.assertEqual(self.huf("backup", self.file).exit_code, 0)
		target = self.folder / "target"
		result = self.huf("restore", self.file, home=target)
		self.assertEqual(result.exit_code, 0, result.output)
		for path in (module, common):
			self.assertEqual((target / path.relative_to(self.home)).read_text(), path.read_text())
		self.assertFalse((site.site_path(target) / "apps").exists())

	def test_a_backup_into_the_site_does_not_contain_itself(self):
		import resource  # not on Windows

		file = site.site_path(self.home) / "private/files/site.backup"
		(file.parent / "big.bin").write_bytes(os.urandom(3 * backup.CHUNK_BYTES))
		limit = resource.getrlimit(resource.RLIMIT_FSIZE)
		self.addCleanup(resource.setrlimit, resource.RLIMIT_FSIZE, limit)
		resource.setrlimit(resource.RLIMIT_FSIZE, (20 * backup.CHUNK_BYTES, limit[1]))
		result = self.huf("backup", file)
		self.assertEqual(result.exit_code, 0, result.output)
		with zipfile.ZipFile(file) as package:
			self.assertFalse([name for name in package.namelist() if "backup" in name])

	@unittest.skipIf(os.name != "posix", "links and modes are POSIX")
	def test_a_backup_has_files_behind_a_link_and_fails_where_a_folder_cannot_be_read(self):
		folder = site.site_path(self.home) / "private" / "files"
		folder.rename(self.folder / "volume")
		folder.symlink_to(self.folder / "volume")
		self.huf("backup", self.file)
		self.huf("restore", self.file, home=self.folder / "other")
		self.assert_whole(self.folder / "other")
		denied = PermissionError(errno.EACCES, "Permission denied", str(folder))
		with mock.patch("os.scandir", side_effect=denied):
			result = self.huf("backup", self.folder / "second.backup")
		self.assertEqual((result.exit_code, (self.folder / "second.backup").exists()), (1, False))
		self.assertIn(str(folder), result.output)

	def test_a_backup_removes_the_copies_of_one_that_was_killed(self):
		old, new = (site.site_path(self.home) / f"backup-copies-{name}" for name in ("old", "new"))
		for folder in (old, new):
			folder.mkdir()
			(folder / "site.db").touch()
		os.utime(old, (0, 0))
		self.huf("backup", self.file)
		self.assertEqual((old.exists(), new.exists()), (False, True))

	def test_a_full_disk_is_named_by_the_place_that_is_written(self):
		self.assertEqual(self.huf("backup", self.file).exit_code, 0)
		other, copies = self.folder / "other", str(site.site_path(self.home) / "tmp")
		full = partial(OSError, errno.ENOSPC, "No space left on device")
		for command, place, name, fault in (
			(("backup", other), other, "write_zip", full()),
			(("backup", other), copies, "write_zip", full(copies)),
			(("restore", self.file), other, "decrypt_file", full(str(self.file), None, "copy")),
		):
			with self.subTest(command[0]), mock.patch.object(backup, name, side_effect=fault):
				output = self.huf(*command, home=other if command[0] == "restore" else None).output
				self.assertEqual(
					output, f"Error: {place}: The disk is full. Free some space, then try again.\n"
				)

	def test_an_interrupted_first_start_begins_anew(self):
		home = self.folder / "new"
		with mock.patch.object(site, "make_users", side_effect=KeyboardInterrupt):
			self.assertRaises(KeyboardInterrupt, isolated, site.create, home, PASSWORD)
		self.assertFalse(site.exists(home))
		isolated(site.create, home, PASSWORD)

	def test_a_backup_under_write_load_restores_to_a_site_that_works(self):
		ended, written = threading.Event(), []

		def write():
			with site.opened(self.home):
				while not ended.is_set():
					written.append(make("ToDo", description="under load").name)
					make_file(f"{len(written)}.txt", f"file {len(written)}")
					frappe.db.commit()

		writer = threading.Thread(target=isolated, args=(write,))
		writer.start()
		try:
			while len(written) <= MIN_FILES:
				self.assertTrue(writer.is_alive())
				time.sleep(0.01)
			result = self.huf("backup", self.file)
		finally:
			ended.set()
			writer.join()
		self.assertEqual(result.exit_code, 0, result.output)
		result = self.huf("restore", self.file, home=self.folder / "other")
		self.assertEqual(result.exit_code, 0, result.output)
		self.assert_whole(self.folder / "other")
		isolated(self.check_files, self.folder / "other")

	def check_files(self, home: Path):
		with site.opened(home):
			names = frappe.get_all("File", {"is_folder": 0}, pluck="name", order_by="creation asc")
			self.assertGreaterEqual(len(names), MIN_FILES)
			for name in names:
				self.assertTrue(frappe.get_doc("File", name).get_content())

	def test_a_written_file_appears_only_when_it_is_complete(self):
		target, seen = self.folder / "files" / "report.txt", []
		write_bytes = Path.write_bytes

		def write_slowly(path, content):
			write_bytes(path, content[:5])
			seen.append(target.exists())
			write_bytes(path, content)

		def write():
			with site.opened(self.home), mock.patch.object(Path, "write_bytes", write_slowly):
				write_file(target, b"all of it")

		isolated(write)
		self.assertEqual((seen, target.read_bytes()), ([False], b"all of it"))

	def test_an_encrypted_backup_needs_its_passphrase(self):
		self.assertEqual(self.huf("backup", self.file, passphrase=PASSPHRASE).exit_code, 0)
		self.assertFalse(zipfile.is_zipfile(self.file))
		self.assertNotIn(b"encryption_key", self.file.read_bytes())
		for wrong in ("", "another passphrase"):
			result = self.huf("restore", self.file, home=self.folder / "other", passphrase=wrong)
			self.assertEqual(result.exit_code, 1)
			self.assertRegex(
				result.output, "was not restored. The (backup is encrypted.*--encrypted|passphrase is wrong)"
			)
			self.assertFalse(site.exists(self.folder / "other"))
		result = self.huf("restore", self.file, home=self.folder / "other", passphrase=PASSPHRASE)
		self.assertEqual(result.exit_code, 0, result.output)
		self.assert_whole(self.folder / "other")

	def test_a_torn_or_changed_backup_is_refused(self):
		for passphrase in ("", PASSPHRASE):
			with mock.patch.object(backup, "CHUNK_BYTES", 10_000):
				self.huf("backup", self.file, passphrase=passphrase)
				whole = self.file.read_bytes()
				middle = len(whole) // 2
				flipped = whole[:middle] + bytes([whole[middle] ^ 1]) + whole[middle + 1 :]
				cuts = [b"", whole[:20], whole[:middle], whole[:-1], whole[: -len(whole) % 10_016 - 10_016]]
				for number, content in enumerate([*cuts, flipped, whole[:middle] + whole[middle + 500 :]]):
					torn = self.folder / f"torn{number}"
					torn.write_bytes(content)
					result = self.huf("restore", torn, home=self.folder / "other", passphrase=passphrase)
					self.assertEqual(result.exit_code, 1, (number, result.output))
					self.assertIn("was not restored", result.output)
					self.assertFalse((self.folder / "other").exists(), "nothing was made")
			self.file.unlink()

	def test_a_zip_with_an_invalid_manifest_is_refused(self):
		for manifest in ([], {"sha256": ["site.db"]}, {"sha256": None}):
			with zipfile.ZipFile(self.file, "w") as package:
				package.writestr(backup.MANIFEST, json.dumps(manifest))
			result = self.huf("restore", self.file, home=self.folder / "other")
			self.assertIn("was not restored", result.output)

	def test_restore_does_not_write_outside_the_site(self):
		self.huf("backup", self.file)
		with zipfile.ZipFile(self.file) as package:
			manifest = json.loads(package.read(backup.MANIFEST))
			members = {name: package.read(name) for name in package.namelist() if name != backup.MANIFEST}
		manifest["sha256"]["../../evil"] = manifest["sha256"]["site.db"]
		with zipfile.ZipFile(self.file, "w") as package:
			for name, content in {**members, "../../evil": members["site.db"]}.items():
				package.writestr(name, content)
			package.writestr(backup.MANIFEST, json.dumps(manifest))
		result = self.huf("restore", self.file, home=self.folder / "other")
		self.assertIn("leads out of the site", result.output)
		self.assertEqual(list(self.folder.rglob("evil")), [])

	def test_backup_and_restore_refuse_to_overwrite_existing_data(self):
		self.huf("backup", self.file)
		self.assertIn("exists already", self.huf("backup", self.file).output)
		self.assertIn("has a site", self.huf("restore", self.file).output)

	def test_huf_doctor_reports_unreadable_secrets(self):
		result = self.huf("doctor")
		self.assertEqual(result.exit_code, 0, result.output)
		self.assertRegex(result.output, r"ok +site.db +ok, [\d.]+ MB")
		self.assertRegex(result.output, r"ok +secrets +1 stored, all readable")
		folder = site.site_path(self.home)
		site.write_config(folder, {**site.read_config(folder), "encryption_key": site.new_encryption_key()})
		result = self.huf("doctor")
		self.assertEqual(result.exit_code, 1)
		self.assertRegex(result.output, rf"WRONG +secrets +1 stored, not readable.*{self.provider}")

	def test_secrets_stay_readable_after_key_rotation_and_after_a_crash(self):
		folder = site.site_path(self.home)
		before = site.read_config(folder)["encryption_key"]
		with only_server(self.home, "http://127.0.0.1:1", "Stop it."):
			self.assertIn("already running", self.huf("rotate-keys").output)
		locks = site.site_path(self.home) / "locks"
		locks.mkdir(exist_ok=True)
		with FileLock(locks / "worker-one.lock"):
			self.assertIn("`huf worker` are running", self.huf("rotate-keys").output)
		write = site.write_config

		def write_once(*given):
			patched.side_effect = OSError("crash")
			write(*given)

		with mock.patch.object(site, "write_config", side_effect=write_once) as patched:
			self.assertNotEqual(self.huf("rotate-keys").exit_code, 0)
		self.assert_whole(self.home)
		self.assertRegex(self.huf("doctor").output, "WRONG +secrets .*run `huf rotate-keys` again")
		self.assertIn("1 secrets", self.huf("rotate-keys").output)
		config = site.read_config(folder)
		self.assertNotIn("old_encryption_keys", config)
		self.assertNotEqual(config["encryption_key"], before)
		self.assert_whole(self.home)

	def test_rotate_keys_names_an_unreadable_secret_and_changes_nothing(self):
		folder = site.site_path(self.home)
		config = {**site.read_config(folder), "encryption_key": site.new_encryption_key()}
		site.write_config(folder, config)
		result = self.huf("rotate-keys")
		self.assertEqual(result.exit_code, 1)
		self.assertIn(f"Error: AI Provider.{self.provider}.api_key cannot be read", result.output)
		self.assertEqual(site.read_config(folder), config)

	def test_commands_name_an_encryption_key_that_is_not_whole(self):
		folder = site.site_path(self.home)
		config = site.read_config(folder)
		for key in (config["encryption_key"][:-2], 5, None):
			site.write_config(folder, {**config, "encryption_key": key})
			for command in ("doctor", "rotate-keys", "backup"):
				with self.subTest(command, key=key):
					self.assertIn("the encryption_key is not whole", self.huf(command).output)
