"""A file below the site's public/files or private/files, and the document it is attached to."""

import base64
import hashlib
import re
from pathlib import Path

import frappe
from frappe.model.document import Document
from frappe.utils.data import cint

HOME, ATTACHMENTS = "Home", "Home/Attachments"
UNSAFE = re.compile(r"[/\\%?#\x00-\x1f]")


class File(Document):
	def autoname(self):
		if self.is_folder:
			self.name = "/".join(filter(None, (self.folder, self.file_name)))

	def before_insert(self):
		if self.is_folder:
			return
		self.folder = self.folder or (ATTACHMENTS if self.attached_to_doctype else HOME)
		content = self.given_content()
		if self.file_name:
			self.file_name = safe_name(self.file_name)
		if content is not None:
			self.write_content(content)
		elif not self.file_url:
			frappe.throw(frappe._("A file needs content or a file_url"), frappe.MandatoryError)
		if self.is_local():
			self.is_private = int(self.file_url.startswith("/private/"))
		self.file_type = (Path(self.file_name or "").suffix[1:] or "").upper() or None

	def validate(self):
		self.check_url()
		before = self.get_doc_before_save()
		if before and cint(before.is_private) != cint(self.is_private) and self.is_local():
			self.move()

	def check_url(self):
		if self.is_folder or not self.file_url or self.file_url.startswith(("http://", "https://")):
			return
		folder = f"{self.url_folder()}/"
		if not self.file_url.startswith(("/files/", "/private/files/")) or ".." in Path(self.file_url).parts:
			frappe.throw(frappe._("The file URL must start with {0} or http").format(folder))
		if self.get("content") is None and self.has_value_changed("file_url"):
			self.check_may_refer()

	def check_may_refer(self):
		"""A private file that lies there already may only be named by those who may read it."""
		if self.flags.ignore_permissions or not self.file_url.startswith("/private/"):
			return
		filters = {"file_url": self.file_url, "name": ["!=", self.name or ""]}
		others = frappe.get_all("File", filters=filters, pluck="name", order_by="name asc")
		if not any(frappe.has_permission("File", "read", doc=name) for name in others):
			frappe.throw(frappe._("You don't have permission to access this file"), frappe.PermissionError)

	def after_delete(self):
		"""The bytes go with the last File that refers to them."""
		if self.is_local() and not frappe.db.exists("File", {"file_url": self.file_url}):
			self.delete_file_data_content()

	def delete_file_data_content(self, only_thumbnail=False):
		path = Path(self.get_full_path())
		frappe.db.after_commit.add(lambda: path.unlink(missing_ok=True))

	# --- contents ---

	def given_content(self) -> bytes | None:
		content = self.get("content")
		if content is None:
			return None
		if cint(self.get("decode")):
			content = content.encode() if isinstance(content, str) else content
			return base64.b64decode(content.split(b",", 1)[1] if b"," in content else content)
		return content.encode() if isinstance(content, str) else content

	def write_content(self, content: bytes):
		limit = cint(frappe.conf.max_file_size) or 25 * 1024 * 1024
		if len(content) > limit:
			frappe.throw(
				frappe._("File size exceeded the maximum allowed size of {0} MB").format(limit / 1048576)
			)
		if not self.file_name:
			self.file_name = frappe.generate_hash(length=10)
		self.content_hash, self.file_size = hashlib.md5(content).hexdigest(), len(content)
		# Nobody else writes meanwhile, or finds bytes that a rollback takes away again.
		frappe.db.begin()
		path = self.free_path(content)
		if not path.exists():
			path.parent.mkdir(parents=True, exist_ok=True)
			path.write_bytes(content)
			frappe.db.before_rollback.add(lambda: path.unlink(missing_ok=True))
		self.file_name = self.file_name or path.name
		self.file_url = f"{self.url_folder()}/{path.name}"

	def free_path(self, content: bytes) -> Path:
		"""The path of the file's name; with part of the hash in it if the name is taken by other bytes."""
		path = self.folder_path() / self.file_name
		if path.exists() and path.read_bytes() != content:
			path = path.with_name(f"{path.stem}{self.content_hash[-6:]}{path.suffix}")
		return path

	def get_content(self, encodings=None):
		"""Text if the bytes are UTF-8, else bytes."""
		if self.is_folder:
			frappe.throw(frappe._("Cannot get file contents of a Folder"))
		if (given := self.given_content()) is not None:
			return given
		content = Path(self.get_full_path()).read_bytes()
		try:
			return content.decode()
		except UnicodeDecodeError:
			return content

	def get_full_path(self) -> str:
		if not self.is_local():
			frappe.throw(frappe._("{0} is not a file of this site").format(self.file_url))
		return str(self.folder_path() / Path(self.file_url).name)

	def is_local(self) -> bool:
		return bool(self.file_url) and self.file_url.startswith(("/files/", "/private/files/"))

	def url_folder(self) -> str:
		return "/private/files" if cint(self.is_private) else "/files"

	def folder_path(self) -> Path:
		return Path(frappe.get_site_path("private" if cint(self.is_private) else "public", "files"))

	def move(self):
		"""From public to private or back, after is_private changed."""
		name = Path(self.file_url).name
		old = Path(frappe.get_site_path("public" if cint(self.is_private) else "private", "files", name))
		target = self.folder_path() / name
		if target.exists() or not old.exists():
			frappe.throw(frappe._("{0} cannot be moved to {1}").format(name, self.url_folder()))
		old.rename(target)
		frappe.db.after_rollback.add(lambda: target.rename(old))
		self.file_url = f"{self.url_folder()}/{name}"


def safe_name(file_name: str) -> str:
	"""Without path parts and what has a meaning in addresses."""
	name = UNSAFE.sub("", file_name).strip()
	if name.strip(".") == "":
		frappe.throw(frappe._("{0} is no file name").format(frappe.bold(file_name)))
	return name[-140:]


def make_home_folders():
	for name, parent, flag in (
		(HOME, None, "is_home_folder"),
		("Attachments", HOME, "is_attachments_folder"),
	):
		folder = dict(doctype="File", file_name=name, folder=parent, is_folder=1)
		if not frappe.db.exists("File", "/".join(filter(None, (parent, name)))):
			frappe.get_doc({**folder, flag: 1}).insert()


def has_permission(doc, ptype=None, user=None):
	"""Public files may be read by all; private ones by their owner and by who may read what they belong to."""
	user = user or frappe.session.user
	if ptype == "create" or user == "Administrator" or (user != "Guest" and doc.owner == user):
		return True
	if not cint(doc.is_private) and ptype in ("read", "select"):
		return True
	if doc.attached_to_doctype and doc.attached_to_name:
		wanted = "write" if ptype in ("write", "delete") else "read"
		if frappe.db.exists(doc.attached_to_doctype, doc.attached_to_name):
			return frappe.has_permission(doc.attached_to_doctype, wanted, doc=doc.attached_to_name, user=user)
	return False


def get_permission_query_conditions(user=None):
	user = user or frappe.session.user
	if user == "Administrator":
		return ""
	return f"(`tabFile`.is_private = 0 OR `tabFile`.owner = {frappe.db.escape(user)})"
