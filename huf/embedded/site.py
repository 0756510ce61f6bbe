"""Creates, opens and migrates the site of an embedded runtime.

The home contains sites/huf.localhost/{site_config.json, site.db, jobs.db, public/files, private/files, logs}.
"""

import base64
import errno
import json
import os
import secrets
import shutil
import sqlite3
import sys
from contextlib import closing, contextmanager
from importlib import import_module
from pathlib import Path
from zoneinfo import ZoneInfo

import huf.embedded

SITE = "huf.localhost"
APPS = ("frappe", "huf")
ESSENTIAL = ("site_config.json", "site.db")
FOLDERS = ("public/files", "private/files", "logs")
INCOMPLETE = "is_incomplete"
ROLES = ("Administrator", "System Manager", "All", "Guest", "Desk User")


def sites_path(home) -> Path:
	return Path(home) / "sites"


def site_path(home) -> Path:
	return sites_path(home) / SITE


def exists(home) -> bool:
	folder = site_path(home)
	return any((folder / name).is_file() for name in ESSENTIAL) and not is_incomplete(folder)


def is_incomplete(folder: Path) -> bool:
	"""Whether the process that created the site was killed before the end."""
	try:
		return bool(read_config(folder).get(INCOMPLETE))
	except (OSError, ValueError):
		return False


def create(home, admin_password: str | None = None, apps=APPS) -> str:
	"""Create a site with these apps. Returns Administrator's password, which is random unless given.

	Raises FileExistsError if the site exists.
	"""
	folder = site_path(home)
	if exists(home):
		raise FileExistsError(f"{folder} is a site already: open it, or choose another home")
	if is_incomplete(folder):
		shutil.rmtree(folder)
	password = admin_password or secrets.token_urlsafe(12)
	try:
		fill(home, password, apps)
	except BaseException:  # re-raised: an interrupted one would count as complete the next time
		shutil.rmtree(folder, ignore_errors=True)
		raise
	return password


def fill(home, password: str, apps) -> None:
	folder = site_path(home)
	for name in FOLDERS:
		(folder / name).mkdir(parents=True, exist_ok=True)
	config = {"encryption_key": new_encryption_key(), "installed_apps": ["frappe"]}
	write_config(folder, {**config, INCOMPLETE: 1})
	with opened(home) as frappe:
		frappe.db.is_alone = True
		from frappe.core.doctype.file.file import make_home_folders
		from frappe.model import sync

		frappe.flags.in_install = True
		sync.bootstrap()
		frappe.db.commit()
		sync.sync_app("frappe")
		make_users(frappe, password)
		make_home_folders()
		frappe.db.commit()
	for app in apps:
		if app != "frappe":
			install_app(home, app, is_new=True)
	write_config(folder, {key: value for key, value in read_config(folder).items() if key != INCOMPLETE})


def install_app(home, app: str, is_new: bool = False):
	"""Import the app's DocTypes and run its `after_install`. Does nothing if it is installed.

	`is_new`: the site is being created, so no other process writes to it.
	"""
	folder = site_path(home)
	config = read_config(folder)
	if app in config["installed_apps"]:
		return
	write_config(folder, {**config, "installed_apps": [*config["installed_apps"], app]})
	try:
		with opened(home) as frappe:
			frappe.flags.in_install = app
			frappe.db.is_alone = is_new
			sync_app(frappe, app)
			run_hooks(frappe, "after_install", app)
			frappe.model.sync.init_singles()
			frappe.db.commit()
	except BaseException:  # re-raised: it is not installed, and can be installed again
		write_config(folder, config)
		raise


def check_config(home):
	"""Raises UsageError if the site lacks its configuration or database, or cannot be opened with them."""
	from huf.ai.core.errors import UsageError

	folder = site_path(home)
	for name in ESSENTIAL:
		file = folder / name
		if not file.is_file() or not file.stat().st_size:
			raise UsageError(f"{file} is missing or empty. Put it back, for example from a backup.")
	config: dict = {}
	for file in (folder.parent / "common_site_config.json", folder / "site_config.json"):
		try:
			config |= json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}
		except (ValueError, TypeError) as error:
			raise UsageError(f"{file} is not valid JSON: {error}") from None
	zone = config.get("time_zone")
	try:
		if zone:  # a machine without time zone data works with its own
			ZoneInfo(zone)
	except (ValueError, OSError, KeyError, TypeError):
		raise UsageError(f"{file}: {zone!r} is not a time_zone, such as Europe/Berlin.") from None
	if not is_encryption_key(config.get("encryption_key")):
		raise UsageError(f"{file}: the encryption_key is not whole. Put it back, for example from a backup.")


def check_files(home):
	"""Raises UsageError, OSError or sqlite3.Error if the site's files are unusable."""
	check_config(home)
	folder = site_path(home)
	databases = [folder / name for name in ("site.db", "jobs.db") if (folder / name).exists()]
	for path in (folder, *databases):
		if not os.access(path, os.W_OK):
			raise OSError(errno.EROFS, "not writable", str(path))
	for path in databases:
		with closing(sqlite3.connect(path)) as database:
			database.execute("SELECT count(*) FROM sqlite_master").fetchone()
			# The server writes to the queue as it starts. To read all of site.db would take seconds.
			if path.name == "jobs.db" and database.execute("PRAGMA quick_check").fetchone()[0] != "ok":
				raise sqlite3.DatabaseError(f"{path} is malformed")


def migrate(home) -> list[str]:
	"""Update tables and DocTypes to the installed apps' files. Returns the names of changed DocTypes.

	Waits for another migration of the site to end.
	"""
	from filelock import FileLock

	with FileLock(site_path(home) / "migration.lock"), opened(home) as frappe:
		from frappe.database.schema import pad_times
		from frappe.model import sync
		from frappe.utils.scheduler import list_unreadable

		frappe.flags.in_migrate = True
		sync.bootstrap()
		changed = [name for app in frappe.get_installed_apps() for name in sync_app(frappe, app)]
		pad_times()
		for app in frappe.get_installed_apps():
			run_hooks(frappe, "after_migrate", app)
		frappe.db.commit()
		if faults := list_unreadable():
			print(f"scheduler_events that never fire: {', '.join(faults)}", file=sys.stderr)
		frappe.clear_cache()
	return changed


def sync_app(frappe, app: str) -> list[str]:
	from frappe.model import sync

	changed = sync.sync_app(app)
	make_missing_roles(frappe)
	sync.sync_reports(app)
	import_fixtures(frappe, app)
	return changed


@contextmanager
def opened(home):
	"""Open the site as Administrator, and close it at the end. Uncommitted writes are discarded.

	Raises UsageError where the package of an app of the site is needed and is not there.
	"""
	huf.embedded.install()
	frappe = import_module("frappe")
	with frappe.site_local.opened(SITE, str(sites_path(home))):
		try:
			yield frappe
		except ModuleNotFoundError as error:
			if error.name not in frappe.get_installed_apps():
				raise
			raise describe_lost_app(error.name, site_path(home)) from None


def describe_lost_app(app: str, folder: Path) -> Exception:
	from huf.ai.core.errors import UsageError

	return UsageError(
		f"There is no Python package of the site's app {app}. Put it back, or take {app} out of "
		f"installed_apps in {folder / 'site_config.json'}."
	)


def make_users(frappe, password: str):
	from frappe.utils.password import update_password

	make_missing_roles(frappe, ROLES)
	for name, email, roles in (
		("Administrator", "admin@example.com", ("Administrator", "System Manager")),
		("Guest", "guest@example.com", ("Guest",)),
	):
		user = frappe.get_doc(
			dict(
				doctype="User",
				email=email,
				first_name=name,
				enabled=1,
				user_type="System User" if name == "Administrator" else "Website User",
				roles=[dict(role=role) for role in roles],
			)
		)
		user.insert(set_name=name, ignore_permissions=True)
	update_password("Administrator", password)


def make_missing_roles(frappe, roles=()):
	"""Create the roles named in permission rules, as installing an app on a bench does."""
	wanted = [*roles, *frappe.db.sql("SELECT DISTINCT role FROM `tabDocPerm`", pluck=True)]
	for role in dict.fromkeys(wanted):
		if role and not frappe.db.exists("Role", role):
			frappe.get_doc(
				dict(doctype="Role", role_name=role, desk_access=int(role not in ("All", "Guest")))
			).insert()


def import_fixtures(frappe, app: str):
	"""Insert or update the documents of the app's fixtures/*.json."""
	folder = Path(frappe.get_app_path(app, "fixtures"))
	for file in sorted(folder.glob("*.json")) if folder.is_dir() else ():
		with frappe.model.sync.naming_file(file):
			for values in json.loads(file.read_text(encoding="utf-8")):
				import_fixture(frappe, values)


def import_fixture(frappe, values: dict):
	doctype, name = values["doctype"], values["name"]
	values = {key: value for key, value in values.items() if key not in ("modified", "creation")}
	if frappe.db.exists(doctype, name):
		document = frappe.get_doc(doctype, name)
		document.update(values)
		document.flags.ignore_links = True
		document.save(ignore_permissions=True)
	else:
		frappe.get_doc(values).insert(ignore_permissions=True, ignore_links=True, set_name=name)


def run_hooks(frappe, hook: str, app: str):
	for method in frappe.get_hooks(hook, app_name=app):
		frappe.get_attr(method)()


def new_encryption_key() -> str:
	from cryptography.fernet import Fernet

	return Fernet.generate_key().decode()


def is_encryption_key(value) -> bool:
	try:
		return len(base64.urlsafe_b64decode(value)) == 32
	except (ValueError, TypeError):
		return False


def read_config(folder: Path) -> dict:
	return json.loads((folder / "site_config.json").read_text(encoding="utf-8"))


def list_running_workers(home) -> list[Path]:
	"""The lock files of live job workers: see `frappe/utils/job_worker.py`."""
	from filelock import FileLock, Timeout

	running = []
	for file in sorted((site_path(home) / "locks").glob("worker-*.lock")):
		try:
			with FileLock(file, timeout=0):
				pass
		except Timeout:
			running.append(file)
	return running


def write_config(folder: Path, config: dict):
	file, partial = folder / "site_config.json", folder / "site_config.json.partial"
	partial.touch(mode=0o600)
	partial.write_text(json.dumps(config, indent=1, sort_keys=True) + "\n", encoding="utf-8")
	if sys.platform != "win32":
		partial.chmod(0o600)
	with partial.open("rb") as written:
		os.fsync(written.fileno())
	partial.replace(file)
