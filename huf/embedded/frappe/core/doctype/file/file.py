"""A file below the site's public/files or private/files, and the document it is attached to."""

import base64
import hashlib
import re
import tempfile
from functools import partial
from itertools import chain
from pathlib import Path

import frappe
from frappe.database import get_db
from frappe.model.document import Document
from frappe.utils.data import cint
from frappe.utils.file_types import check_may_store

HOME, ATTACHMENTS = "Home", "Home/Attachments"
MAX_NAME_CHARS, MAX_NAME_BYTES = 120, 200
"""With room for the suffix of `free_path`: a field has 140 characters, file systems allow 255 bytes."""
UNSAFE = re.compile(r"[/\\%?#\x00-\x1f]")


class File(Document):
	request_keys = ("content", "decode")

	def autoname(self):
		if self.is_folder:
			self.name = "/".join(filter(None, (self.folder, self.file_name)))

	def before_insert(self):
		if self.is_folder:
			if not self.is_home_folder:
				self.folder = self.folder or HOME
			return
		self.folder = self.folder or (ATTACHMENTS if self.attached_to_doctype else HOME)
		content = self.given_content()
		if self.file_name:
			self.file_name = safe_name(self.file_name)
		elif not self.file_url:
			message = frappe._("Fields `file_name` or `file_url` must be set for File")
			frappe.throw(message, frappe.MandatoryError)
		elif not self.is_local():
			self.file_name = self.file_url.split("/")[-1]
		if content is not None:
			if self.is_local():
				self.is_private = int(self.is_in_private_folder())
			self.write_content(content)
			self.flags.written_url = self.file_url
		elif not self.file_url:
			frappe.throw(frappe._("File {0} does not exist").format(self.file_name), OSError)
		self.file_type = (Path(self.file_name or "").suffix[1:] or "").upper() or None

	def validate(self):
		self.check_may_attach()
		if self.is_folder:
			self.file_url = None
		if not self.is_local():
			self.check_remote_url()
		elif self.has_value_changed("file_url") and self.file_url != self.flags.written_url:
			self.check_may_refer()
			self.is_private = int(self.is_in_private_folder())
		elif cint(self.is_private) != self.is_in_private_folder():
			self.move()

	def check_may_attach(self):
		"""Readers, agents and searches take attachments for a part of the document."""
		doctype, name = self.attached_to_doctype, self.attached_to_name
		is_moved = self.has_value_changed("attached_to_doctype") or self.has_value_changed("attached_to_name")
		if self.flags.ignore_permissions or not (is_moved and doctype and name):
			return
		if frappe.db.exists(doctype, name):
			frappe.get_doc(doctype, name).check_permission("write")
		else:
			# Somebody may make a document of that name later, and would not know of the file.
			frappe.has_permission(doctype, "create", throw=True)

	def check_remote_url(self):
		if self.file_url and not self.file_url.startswith(("http://", "https://")):
			message = frappe._("The file URL must start with {0} or http")
			frappe.throw(message.format(f"{self.url_folder()}/"))

	def check_may_refer(self):
		"""A local address may be taken over only from a File the user may read."""
		name = self.file_url.removeprefix("/private").removeprefix("/files/")
		if name != clean_name(name):
			frappe.throw(frappe._("{0} is not the address of a file").format(frappe.bold(self.file_url)))
		if self.flags.ignore_permissions:
			return
		if not any(frappe.has_permission("File", "read", doc=name) for name in self.other_files()):
			frappe.throw(frappe._("You don't have permission to access this file"), frappe.PermissionError)

	def other_files(self) -> list[str]:
		return [name for name in files_at(self.file_url) if name != self.name]

	def on_trash(self):
		if self.is_home_folder or self.is_attachments_folder:
			frappe.throw(frappe._("Cannot delete Home and Attachments folders"))

	def after_delete(self):
		if self.is_local() and not self.other_files():
			self.delete_file_data_content()

	def delete_file_data_content(self, only_thumbnail=False):
		"""The content goes with the last File that refers to it."""
		delete_unused_content(self.file_url, Path(self.get_full_path()))

	# --- contents ---

	def given_content(self) -> bytes | None:
		content = self.get("content")
		if content is None:
			return None
		content = content.encode() if isinstance(content, str) else content
		if not isinstance(content, bytes):
			frappe.throw(frappe._("{0} must be text").format(frappe.bold("content")))
		if not cint(self.get("decode")):
			return content
		try:
			return base64.b64decode(content.split(b",", 1)[1] if b"," in content else content)
		except ValueError as error:
			frappe.throw(frappe._("{0} is not valid Base64: {1}").format(frappe.bold("content"), error))

	def write_content(self, content: bytes):
		limit = cint(frappe.conf.max_file_size) or 25 * 1024 * 1024
		if len(content) > limit:
			frappe.throw(
				frappe._("File size exceeded the maximum allowed size of {0} MB").format(limit / 1048576)
			)
		# Also where a stored File is moved: its new name may come from outside.
		self.file_name = safe_name(self.file_name) if self.file_name else frappe.generate_hash(length=10)
		if not self.flags.ignore_permissions:
			check_may_store(self.file_name)
		self.content_hash, self.file_size = (
			hashlib.md5(content, usedforsecurity=False).hexdigest(),
			len(content),
		)
		# The write lock keeps other uploads from choosing the same path, or sharing content a rollback
		# removes.
		frappe.db.begin()
		path = self.free_path(self.folder_path(cint(self.is_private)), content)
		if not path.exists():
			write_file(path, content)
			frappe.db.before_rollback.add(lambda: path.unlink(missing_ok=True))
		self.file_name, self.file_url = path.name, f"{self.url_folder()}/{path.name}"

	def free_path(self, folder: Path, content: bytes) -> Path:
		"""The path of the file's name; with a suffix if other content has that name."""
		name = Path(self.file_name)
		path = folder / name
		suffixes = chain([self.content_hash[-6:]], iter(partial(frappe.generate_hash, length=10), None))
		while path.exists() and path.read_bytes() != content:
			path = folder / f"{name.stem}{next(suffixes)}{name.suffix}"
		return path

	def get_content(self, encodings=None):
		"""Text if the bytes are UTF-8, else bytes."""
		if self.is_folder:
			frappe.throw(frappe._("Cannot get file contents of a Folder"))
		if self.get("content"):
			return self.given_content() if cint(self.get("decode")) else self.content
		content = Path(self.get_full_path()).read_bytes()
		try:
			return content.decode()
		except UnicodeDecodeError:
			return content

	def get_full_path(self) -> str:
		if not self.is_local():
			frappe.throw(frappe._("{0} is not a file of this site").format(self.file_url))
		return str(self.folder_path(self.is_in_private_folder()) / Path(self.file_url).name)

	def is_local(self) -> bool:
		return bool(self.file_url) and self.file_url.startswith(("/files/", "/private/files/"))

	def is_in_private_folder(self) -> bool:
		return self.file_url.startswith("/private/")

	def url_folder(self) -> str:
		return "/private/files" if cint(self.is_private) else "/files"

	def folder_path(self, is_private) -> Path:
		return Path(frappe.get_site_path("private" if is_private else "public", "files"))

	def move(self):
		"""Move the content from public to private or back; copy it if other Files refer to it."""
		old_url, old = self.file_url, Path(self.get_full_path())
		if not old.exists():
			frappe.throw(frappe._("{0} cannot be moved to {1}").format(old.name, self.url_folder()))
		self.write_content(old.read_bytes())
		delete_unused_content(old_url, old)


def files_at(file_url: str) -> list[str]:
	"""Names of the Files with exactly this address; the database compares text without case."""
	rows = frappe.get_all("File", {"file_url": file_url}, ["name", "file_url"], order_by="name asc")
	return [row.name for row in rows if row.file_url == file_url]


def delete_unused_content(file_url: str, path: Path):
	"""Once this transaction is committed, delete the content unless a File refers to it."""

	def delete():
		lock = get_db(frappe.db.path)
		try:
			if frappe.db.write_began() is None:  # otherwise this thread already holds the lock
				lock.begin()  # nobody uploads the same content in the meantime
			if not files_at(file_url):
				path.unlink(missing_ok=True)
		except frappe.QueryTimeoutError:
			pass  # the content stays
		finally:
			lock.close()

	frappe.db.after_commit.add(delete)


def write_file(path: Path, content: bytes):
	"""Put the whole file at its address at once, so that readers and backups never see a part of it.

	If the disk is full, no file is left.
	"""
	path.parent.mkdir(parents=True, exist_ok=True)
	with tempfile.TemporaryDirectory(dir=frappe.get_site_path()) as folder:
		partial_file = Path(folder, "content")
		partial_file.write_bytes(content)
		partial_file.replace(path)


def safe_name(file_name: str) -> str:
	"""The end of the clean name that fits into a field and a file system."""
	name = clean_name(file_name)[-MAX_NAME_CHARS:]
	return name.encode(errors="ignore")[-MAX_NAME_BYTES:].decode(errors="ignore")


def clean_name(file_name: str) -> str:
	"""The name without path parts and characters that have a meaning in URLs."""
	name = UNSAFE.sub("", file_name).strip()
	if name.strip(".") == "":
		frappe.throw(frappe._("{0} is no file name").format(frappe.bold(file_name)))
	return name


def make_home_folders():
	for name, parent, flag in (
		(HOME, None, "is_home_folder"),
		("Attachments", HOME, "is_attachments_folder"),
	):
		folder = dict(doctype="File", file_name=name, folder=parent, is_folder=1)
		if not frappe.db.exists("File", "/".join(filter(None, (parent, name)))):
			frappe.get_doc({**folder, flag: 1}).insert()


def has_permission(doc, ptype=None, user=None):
	"""Everybody may read public files; private ones are for their owner and for users who may read the
	document to which they are attached.
	"""
	user = user or frappe.session.user
	if ptype == "create" or user == "Administrator" or (user != "Guest" and doc.owner == user):
		return True
	if not cint(doc.is_private) and ptype in ("read", "select"):
		return True
	# Not of other files, which might be attached in a circle.
	if doc.attached_to_doctype and doc.attached_to_doctype != "File" and doc.attached_to_name:
		wanted = "write" if ptype in ("write", "delete") else "read"
		if frappe.db.exists(doc.attached_to_doctype, doc.attached_to_name):
			target = frappe.get_doc(doc.attached_to_doctype, doc.attached_to_name)
			return frappe.has_permission(doc.attached_to_doctype, wanted, doc=target, user=user)
	return False


def get_permission_query_conditions(user=None):
	user = user or frappe.session.user
	if user == "Administrator":
		return ""
	own = f"`tabFile`.owner = {frappe.db.escape(user)}"
	return f"(`tabFile`.is_private = 0 OR {own})" if "Desk User" in frappe.get_roles(user) else own
