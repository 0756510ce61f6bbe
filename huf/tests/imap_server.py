"""A real IMAP server on loopback: Dovecot from Debian, as a plain process with its own mail folder."""

import grp
import os
import pwd
import shutil
import socket
import subprocess
import tempfile
import time
import unittest
from functools import lru_cache
from pathlib import Path

from huf.tests.ports import find_free_port

DOVECOT = shutil.which("dovecot", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
needs_dovecot = unittest.skipUnless(DOVECOT, "Dovecot is not installed: apt-get install dovecot-imapd")
USER, PASSWORD = "office", "a-good-password-7"
CONFIG = """
base_dir = {home}/run
state_dir = {home}/run
log_path = {home}/log
listen = 127.0.0.1
ssl = no
default_internal_user = {internal}
default_login_user = {login}
default_internal_group = {group}
first_valid_uid = 0
first_valid_gid = 0
mail_uid = {uid}
mail_gid = {gid}
service imap-login {{
  chroot =
  inet_listener imap {{
    port = {port}
  }}
  inet_listener imaps {{
    port = 0
  }}
}}
service anvil {{
  chroot =
  unix_listener anvil-auth-penalty {{
    mode = 0
  }}
}}
service stats {{
  chroot =
}}
auth_failure_delay = 0
imap_idle_notify_interval = 2s
"""
CONFIG_2_3 = """
protocols = imap
disable_plaintext_auth = no
mail_location = maildir:{home}/mail
{oauth}
passdb {{
  driver = static
  args = password={password}
}}
userdb {{
  driver = static
  args = uid={uid} gid={gid} home={home}
}}
"""
CONFIG_2_4 = """
dovecot_config_version = 2.4.0
dovecot_storage_version = 2.4.0
{common}
protocols {{
  imap = yes
}}
auth_allow_cleartext = yes
mail_driver = maildir
mail_path = {home}/mail
{oauth}
passdb static {{
  password = {password}
}}
userdb static {{
  fields {{
    uid = {uid}
    gid = {gid}
    home = {home}
  }}
}}
"""
"""Dovecot 2.4 requires its version on the first lines."""

OAUTH_2_3 = """
auth_mechanisms = xoauth2
passdb {{
  driver = oauth2
  mechanisms = xoauth2
  args = {settings}
}}
"""
OAUTH_2_4 = """
auth_mechanisms = xoauth2
passdb oauth2 {{
  mechanisms_filter = xoauth2
}}
oauth2 {{
{introspection}
}}
"""
INTROSPECTION = """
introspection_mode = post
introspection_url = {url}
active_attribute = active
active_value = true
username_attribute = username
"""


@lru_cache(maxsize=1)
def is_before_2_4() -> bool:
	version = subprocess.run([DOVECOT, "--version"], capture_output=True, text=True, check=True).stdout
	return version.startswith(("2.2.", "2.3."))


class ImapServer:
	"""Listens at `port`; `deliver` adds mails to a folder as a delivery agent does.

	With `introspect_url` it accepts access tokens (XOAUTH2) that are valid there, and no password.
	"""

	def __init__(self, introspect_url: str | None = None):
		self.introspect_url = introspect_url
		self.home = Path(tempfile.mkdtemp(prefix="huf-imap-"))
		self.port = find_free_port()
		self.process: subprocess.Popen | None = None
		self.count = 0

	def __enter__(self) -> "ImapServer":
		config = self.home / "dovecot.conf"
		values = {
			"home": self.home,
			"port": self.port,
			"password": PASSWORD,
			"oauth": self.oauth(),
			**get_system_users(),
		}
		common = CONFIG.format(**values)
		if is_before_2_4():
			config.write_text(common + CONFIG_2_3.format(**values))
		else:
			config.write_text(CONFIG_2_4.format(common=common, **values))
		self.home.chmod(0o755)
		(self.home / "run").mkdir()
		self.make_folder(self.home / "mail")
		self.process = subprocess.Popen([DOVECOT, "-F", "-c", str(config)], stderr=subprocess.PIPE, text=True)
		self.wait()
		return self

	def __exit__(self, *_):
		self.process.terminate()
		self.process.wait(60)
		self.process.stderr.close()
		shutil.rmtree(self.home, ignore_errors=True)

	def oauth(self) -> str:
		if not self.introspect_url:
			return ""
		introspection = INTROSPECTION.format(url=self.introspect_url)
		if not is_before_2_4():
			return OAUTH_2_4.format(introspection=introspection)
		settings = self.home / "oauth.conf"
		settings.write_text(introspection)
		return OAUTH_2_3.format(settings=settings)

	def wait(self) -> None:
		deadline = time.monotonic() + 60
		while True:
			try:
				with socket.create_connection(("127.0.0.1", self.port), 1) as found:
					found.recv(10)
				return
			except OSError:
				log = self.home / "log"
				if time.monotonic() > deadline or self.process.poll() is not None:
					log_text = log.read_text() if log.exists() else ""
					raise AssertionError(f"Dovecot does not start: {log_text}") from None
				time.sleep(0.02)

	def deliver(self, raw: bytes, folder: str = "") -> None:
		"""Write a mail to tmp and move it to new, as a delivery agent does."""
		self.count += 1
		home = self.home / "mail" / (f".{folder}" if folder else "")
		if not home.exists():
			self.make_folder(home)
		name = f"{int(time.time())}.{self.count:06}.huf"
		(home / "tmp" / name).write_bytes(raw)
		(home / "tmp" / name).rename(home / "new" / name)

	def make_folder(self, home: Path) -> None:
		for folder in (home, *(home / name for name in ("tmp", "new", "cur"))):
			folder.mkdir()
			os.chown(folder, get_system_users()["uid"], get_system_users()["gid"])

	def forget_uids(self, lost: int = 0) -> None:
		"""Simulate a restored backup: new UIDVALIDITY, new UIDs, and the `lost` oldest mails are gone."""
		home = self.home / "mail"
		for each in sorted([*home.glob("cur/*"), *home.glob("new/*")], key=lambda each: each.name)[:lost]:
			each.unlink()
		for each in [*home.glob("dovecot.index*"), *home.glob("dovecot-uid*")]:
			each.unlink()
		self.count += 1
		uids = home / "dovecot-uidlist"
		uids.write_text(f"3 V{int(time.time()) + 1000 * self.count} N1\n")
		os.chown(uids, get_system_users()["uid"], get_system_users()["gid"])

	@property
	def settings(self) -> dict:
		"""Field values for an Agent Mailbox."""
		return {
			"imap_host": "127.0.0.1",
			"imap_port": self.port,
			"imap_security": "None",
			"imap_user": USER,
			"imap_password": PASSWORD,
		}


def get_system_users() -> dict:
	"""The system users of Dovecot's processes.

	Started by root, Dovecot requires its own users, and `nobody` for the mails.
	"""
	if os.getuid() == 0:
		mail = pwd.getpwnam("nobody")
		return {
			"internal": "dovecot",
			"login": "dovenull",
			"group": "dovecot",
			"uid": mail.pw_uid,
			"gid": mail.pw_gid,
		}
	me, group = pwd.getpwuid(os.getuid()).pw_name, grp.getgrgid(os.getgid()).gr_name
	return {"internal": me, "login": me, "group": group, "uid": os.getuid(), "gid": os.getgid()}
