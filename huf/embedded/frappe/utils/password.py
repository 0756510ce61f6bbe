"""Secrets of Password fields (encrypted, recoverable) and login passwords (hashed, not)."""

import base64
import hashlib
import hmac
import os

import frappe
from frappe.utils.data import cstr

SCRYPT = dict(n=2**14, r=8, p=1)


def get_decrypted_password(doctype, name, fieldname="password", raise_exception=True) -> str | None:
	"""The secret of a Password field.  Raises AuthenticationError if there is none."""
	stored = read_stored(doctype, name, fieldname, encrypted=1)
	if stored and stored[1]:
		return decrypt(stored[1], key=f"{doctype}.{name}.{fieldname}")
	if raise_exception:
		message = frappe._("Password not found for {0} {1} {2}").format(doctype, name, fieldname)
		frappe.throw(message, frappe.AuthenticationError)


def set_encrypted_password(doctype, name, pwd, fieldname="password"):
	store(doctype, name, fieldname, encrypt(pwd), encrypted=1)


def remove_encrypted_password(doctype, name, fieldname="password"):
	frappe.db.execute(
		"DELETE FROM `__Auth` WHERE doctype = ? AND name = ? AND fieldname = ?", (doctype, name, fieldname)
	)


def delete_all_passwords_for(doctype, name):
	frappe.db.execute("DELETE FROM `__Auth` WHERE doctype = ? AND name = ?", (doctype, cstr(name)))


def store(doctype, name, fieldname, password, *, encrypted):
	frappe.db.execute(
		"INSERT OR REPLACE INTO `__Auth` (doctype, name, fieldname, password, encrypted)"
		" VALUES (?, ?, ?, ?, ?)",
		(doctype, name, fieldname, password, encrypted),
	)


def read_stored(doctype, name, fieldname, *, encrypted):
	"""(name, secret) as they are stored."""
	query = """SELECT name, password FROM `__Auth`
		WHERE doctype = ? AND name = ? AND fieldname = ? AND encrypted = ?"""
	return frappe.db.execute(query, (doctype, name, fieldname, encrypted)).fetchone()


# --- encryption ---


def encrypt(txt: str, encryption_key: str | None = None) -> str:
	"""A Fernet token, with the site's `encryption_key` unless another is given."""
	return cipher(encryption_key).encrypt(txt.encode()).decode()


def decrypt(txt: str, encryption_key: str | None = None, key: str | None = None) -> str:
	"""Decrypt a token. Raises ValidationError if it was encrypted with another key."""
	from cryptography.fernet import InvalidToken

	try:
		return cipher(encryption_key).decrypt(txt.encode()).decode()
	except InvalidToken:
		message = (
			"{0} cannot be read: restore the `encryption_key` it was saved with to site_config.json, "
			"or set it again"
		)
		frappe.throw(
			frappe._(message).format(key or "The secret"), title=frappe._("Encryption key is invalid")
		)


def cipher(encryption_key: str | None = None):
	from cryptography.fernet import Fernet, MultiFernet

	# `huf rotate-keys` keeps old keys until every secret has the new one.
	keys = [encryption_key] if encryption_key else [get_encryption_key(), *get_old_encryption_keys()]
	return MultiFernet([Fernet(key.encode()) for key in keys])


def get_old_encryption_keys() -> list[str]:
	return frappe.local.conf.get("old_encryption_keys") or []


def get_encryption_key() -> str:
	key = frappe.local.conf.encryption_key
	if not key:
		frappe.throw("site_config.json has no encryption_key: the site was not created by embedded mode")
	return key


# --- login passwords ---


def update_password(user, pwd, doctype="User", fieldname="password", logout_all_sessions=False):
	"""Set a user's login password."""
	store(doctype, user, fieldname, hash_password(pwd), encrypted=0)
	if doctype == "User":
		# A mailed reset link is valid for the previous password only.
		frappe.db.set_value("User", user, "reset_password_key", None, update_modified=False)
	if logout_all_sessions:
		from frappe.sessions import clear_sessions

		clear_sessions(user=user, keep_current=True, force=True)


def check_password(user, pwd, doctype="User", fieldname="password", delete_tracker_cache=True) -> str:
	"""The user's stored name. Raises AuthenticationError, for unknown users after the same amount of work."""
	stored = read_stored(doctype, user, fieldname, encrypted=0)
	is_right = verify_password(cstr(pwd), stored[1] if stored else NO_PASSWORD)
	if not stored or not is_right:
		raise frappe.AuthenticationError(frappe._("Incorrect User or Password"))
	return stored[0]


def hash_password(pwd: str, salt: bytes | None = None) -> str:
	"""scrypt$<salt>$<hash>, both base64."""
	salt = salt or os.urandom(16)
	digest = hashlib.scrypt(pwd.encode(), salt=salt, **SCRYPT)
	return "$".join(("scrypt", base64.b64encode(salt).decode(), base64.b64encode(digest).decode()))


def verify_password(pwd: str, stored: str) -> bool:
	_scheme, salt, digest = stored.split("$")
	return hmac.compare_digest(hash_password(pwd, base64.b64decode(salt)), f"scrypt${salt}${digest}")


NO_PASSWORD = "scrypt$AAAAAAAAAAAAAAAAAAAAAA==$AAAA"
"""A hash that matches no password, for users without one."""
