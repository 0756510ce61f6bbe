"""Backups: writes a site to one zip of its databases, configuration and files, and restores it.

The last member is a manifest with the SHA-256 of every other, so that truncated or changed files are refused.
With a passphrase, the zip is encrypted in chunks by AES-GCM with a key derived by scrypt.
"""

import errno
import hashlib
import json
import os
import shutil
import sqlite3
import struct
import tempfile
import time
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import closing, contextmanager, nullcontext, suppress
from datetime import datetime, timezone
from pathlib import Path
from typing import IO

import huf
from huf.embedded import site

MANIFEST = "manifest.json"
DATABASES = ("site.db", "jobs.db")
FOLDERS = ("public", "private")
APPS, COMMON = "apps", "common_site_config.json"
"""Beside the site: in the home, and in its folder of sites."""
SKIPPED = {"__pycache__", ".git", "node_modules"}
MAGIC = b"HUFBACKUP1\n"
COPIES, MAX_BACKUP_S = "backup-copies-", 12 * 3600
CHUNK_BYTES = 1_000_000
TAG_BYTES = 16
SCRYPT = {"n": 2**16, "r": 8, "p": 1}


class BackupFault(Exception):
	"""The file is not a complete backup, or the passphrase is wrong; the message says which."""


def write_backup(home: Path, target: Path, passphrase: str | None = None) -> int:
	"""Write a backup of the site, which may be running, and return its size in bytes.

	`target` exists only when it is complete.
	"""
	partial = target.with_name(f"{target.name}.partial")
	try:
		with partial.open("wb") as out:
			with encrypted(out, passphrase) if passphrase else nullcontext(out) as stream:
				write_zip(home, stream, partial)
			out.flush()
			os.fsync(out.fileno())
		partial.replace(target)
	finally:
		partial.unlink(missing_ok=True)
	return target.stat().st_size


def write_zip(home: Path, out: IO[bytes], itself: Path) -> None:
	"""Write the members; `itself` is the file that is being written, which may lie in the site."""
	folder = site.site_path(home)
	hashes: dict[str, str] = {}
	with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as package:
		add_files(package, folder, hashes, itself)
		remove_left_copies(folder)
		with tempfile.TemporaryDirectory(prefix=COPIES, dir=folder) as copies:
			for name in filter(lambda name: (folder / name).exists(), DATABASES):
				copy_database(folder / name, Path(copies, name))
				add_file(package, Path(copies, name), name, hashes)
		# Files added while the others were copied, to which the database may refer.
		add_files(package, folder, hashes, itself)
		add_apps(package, home, hashes)
		add_file(package, folder / "site_config.json", "site_config.json", hashes)
		if (folder.parent / COMMON).exists():
			add_file(package, folder.parent / COMMON, COMMON, hashes)
		made = datetime.now(timezone.utc).isoformat(timespec="seconds")
		package.writestr(MANIFEST, json.dumps({"huf": huf.__version__, "made": made, "sha256": hashes}))


def remove_left_copies(folder: Path) -> None:
	"""Remove the copies of backups that were killed. Another backup may still write the newest."""
	for copies in folder.glob(f"{COPIES}*"):
		with suppress(FileNotFoundError):
			if time.time() - copies.stat().st_mtime > MAX_BACKUP_S:
				shutil.rmtree(copies)


def copy_database(source: Path, target: Path) -> None:
	"""Make a consistent copy while other processes write."""
	with closing(sqlite3.connect(source)) as database, closing(sqlite3.connect(target)) as copy:
		database.backup(copy)
		copy.execute("PRAGMA journal_mode=DELETE")


def add_files(package: zipfile.ZipFile, folder: Path, hashes: dict[str, str], itself: Path) -> None:
	for part in FOLDERS:
		for path in walk(folder / part):
			name = path.relative_to(folder).as_posix()
			try:
				if path.is_file() and name not in hashes and not path.samefile(itself):
					add_file(package, path, name, hashes)
			except FileNotFoundError:
				continue  # deleted meanwhile


def add_apps(package: zipfile.ZipFile, home: Path, hashes: dict[str, str]) -> None:
	"""The code of apps that `huf new-app` made: without it the site could not be opened."""
	for path in walk(home / APPS):
		if path.is_file() and not SKIPPED & set(path.relative_to(home).parts):
			add_file(package, path, path.relative_to(home).as_posix(), hashes)


def walk(top: Path) -> Iterator[Path]:
	"""The files of a folder, also behind links. Raises OSError for a folder that cannot be read."""
	for folder, _folders, names in os.walk(top, onerror=raise_unless_missing, followlinks=True):
		yield from (Path(folder, name) for name in sorted(names))


def raise_unless_missing(error: OSError) -> None:
	if not isinstance(error, FileNotFoundError):  # deleted meanwhile, or a site without apps
		raise error


def add_file(package: zipfile.ZipFile, path: Path, name: str, hashes: dict[str, str]) -> None:
	with path.open("rb") as source, package.open(name, "w", force_zip64=True) as member:
		hashes[name] = copy_hashed(source, member)


def copy_hashed(source: IO[bytes], target: IO[bytes]) -> str:
	"""Copy all bytes, and return their SHA-256."""
	digest = hashlib.sha256()
	while piece := source.read(CHUNK_BYTES):
		digest.update(piece)
		target.write(piece)
	return digest.hexdigest()


def restore_backup(file: Path, home: Path, passphrase: str | None = None) -> dict:
	"""Verify a whole backup, then restore it into an empty home. Returns its manifest. Raises BackupFault."""
	folder = site.site_path(home)
	new = [path for path in (folder.parent, home) if not path.exists()]
	folder.parent.mkdir(parents=True, exist_ok=True)
	try:
		with tempfile.TemporaryDirectory(dir=folder.parent) as scratch:
			plain_file = Path(scratch, "backup.zip")
			decrypt_file(file, plain_file, passphrase)
			unpacked = Path(scratch, "site")
			manifest = unpack(plain_file, unpacked)
			for name in site.FOLDERS:
				(unpacked / name).mkdir(parents=True, exist_ok=True)
			restore_beside(unpacked, home, folder.parent)
			unpacked.rename(folder)
	except BaseException:  # re-raised: no empty folder remains
		for path in new:
			with suppress(OSError):
				path.rmdir()
		raise
	return manifest


def restore_beside(unpacked: Path, home: Path, sites: Path) -> None:
	"""Move apps and the common configuration to their places. Existing ones stay."""
	moves = [(path, home / APPS / path.name) for path in (unpacked / APPS).glob("*")]
	for path, target in [*moves, (unpacked / COMMON, sites / COMMON)]:
		if path.exists() and not target.exists():
			target.parent.mkdir(parents=True, exist_ok=True)
			path.rename(target)
	shutil.rmtree(unpacked / APPS, ignore_errors=True)
	(unpacked / COMMON).unlink(missing_ok=True)


def unpack(file: Path, target: Path) -> dict:
	try:
		with zipfile.ZipFile(file) as package:
			manifest = json.loads(package.read(MANIFEST))
			if not isinstance(manifest, dict) or not isinstance(manifest["sha256"], dict):
				raise BackupFault("The file is not a backup: its manifest lists no files.")
			if set(package.namelist()) != {MANIFEST, *manifest["sha256"]}:
				raise BackupFault("The backup does not contain the files that its manifest lists.")
			for name, expected in manifest["sha256"].items():
				extract(package, name, expected, target)
	except (zipfile.BadZipFile, zlib.error, KeyError, ValueError, EOFError, NotImplementedError) as error:
		raise BackupFault(f"The file is not a whole backup ({error}).") from None
	except OSError as error:
		if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EACCES, errno.EROFS):
			raise
		raise BackupFault(f"The file is not a whole backup ({error}).") from None
	for name in sorted(set(DATABASES) & set(manifest["sha256"])):
		with closing(sqlite3.connect(target / name)) as database:
			found = database.execute("PRAGMA integrity_check").fetchone()[0]
			if found != "ok":
				raise BackupFault(f"{name} in the backup is damaged: {found}")
	return manifest


def extract(package: zipfile.ZipFile, name: str, expected: str, target: Path) -> None:
	path = (target / name).resolve()
	if not path.is_relative_to(target.resolve()):
		raise BackupFault(f"{name} in the backup leads out of the site.")
	path.parent.mkdir(parents=True, exist_ok=True)
	with package.open(name) as member, path.open("wb") as out:
		found = copy_hashed(member, out)
	if found != expected:
		raise BackupFault(f"{name} in the backup has changed.")


# --- encryption ---


@contextmanager
def encrypted(out: IO[bytes], passphrase: str) -> Iterator["EncryptedWriter"]:
	writer = EncryptedWriter(out, passphrase)
	yield writer
	writer.finish()


class EncryptedWriter:
	"""A file object that encrypts. Chunks are numbered and the last is marked, so that none can be removed or
	reordered.
	"""

	def __init__(self, out: IO[bytes], passphrase: str):
		salt = os.urandom(16)
		self.out, self.cipher = out, make_cipher(passphrase, salt)
		self.pending, self.number = bytearray(), 0
		out.write(MAGIC + salt)

	def write(self, data: bytes) -> int:
		self.pending += data
		while len(self.pending) > CHUNK_BYTES:
			self.write_chunk(bytes(self.pending[:CHUNK_BYTES]), is_last=False)
			del self.pending[:CHUNK_BYTES]
		return len(data)

	def flush(self) -> None:
		pass

	def finish(self) -> None:
		self.write_chunk(bytes(self.pending), is_last=True)

	def write_chunk(self, data: bytes, is_last: bool) -> None:
		self.out.write(self.cipher.encrypt(build_nonce(self.number, is_last), data, None))
		self.number += 1


def decrypt_file(file: Path, target: Path, passphrase: str | None) -> None:
	with file.open("rb") as source:
		if source.read(len(MAGIC)) != MAGIC:
			shutil.copyfile(file, target)
			return
		if not passphrase:
			raise BackupFault("The backup is encrypted. Enter its passphrase with --encrypted.")
		cipher = make_cipher(passphrase, source.read(16))
		with target.open("wb") as out:
			for number, (chunk, is_last) in enumerate(read_chunks(source)):
				out.write(decrypt_chunk(cipher, number, chunk, is_last))


def read_chunks(source: IO[bytes]) -> Iterator[tuple[bytes, bool]]:
	chunk = source.read(CHUNK_BYTES + TAG_BYTES)
	while True:
		following = source.read(CHUNK_BYTES + TAG_BYTES)
		yield chunk, not following
		if not following:
			return
		chunk = following


def decrypt_chunk(cipher, number: int, chunk: bytes, is_last: bool) -> bytes:
	from cryptography.exceptions import InvalidTag

	try:
		return cipher.decrypt(build_nonce(number, is_last), chunk, None)
	except (InvalidTag, ValueError):
		reason = (
			"The file is torn or changed" if number else "The passphrase is wrong, or the file is changed"
		)
		raise BackupFault(f"{reason}: chunk {number + 1} cannot be read.") from None


def make_cipher(passphrase: str, salt: bytes):
	from cryptography.hazmat.primitives.ciphers.aead import AESGCM

	key = hashlib.scrypt(passphrase.encode(), salt=salt, dklen=32, maxmem=2**28, **SCRYPT)
	return AESGCM(key)


def build_nonce(number: int, is_last: bool) -> bytes:
	return struct.pack(">QI", number, int(is_last))
