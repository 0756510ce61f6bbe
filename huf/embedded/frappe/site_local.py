"""The context of a request, job or script: `frappe.local`, and opening and closing a site.

Real Frappe keeps it in context variables; so does this.  A thread or coroutine started directly sees it
if it is run with `contextvars.copy_context().run`, on both.
"""

import json
import os
import sys
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

from frappe.types import _dict

_state: ContextVar[dict] = ContextVar("frappe.local")


class Local:
	"""Attributes of the running context. Changes in a copy of the context are invisible to the original."""

	__slots__ = ()

	def __getattr__(self, name):
		try:
			return _state.get()[name]
		except (LookupError, KeyError):
			raise AttributeError(name) from None

	def __setattr__(self, name, value):
		_state.set({**_state.get({}), name: value})

	def __delattr__(self, name):
		state = dict(_state.get({}))
		if name not in state:
			raise AttributeError(name)
		del state[name]
		_state.set(state)

	def __iter__(self):
		return iter(_state.get({}).items())


local = Local()


def release_local(_local=None):
	"""Clear the running context."""
	_state.set({})


def init(site: str, sites_path: str = ".", new_site: bool = False, force: bool = False):
	"""Point `frappe.local` at a site without opening its database. Does nothing if a site is set, unless
	forced.
	"""
	if getattr(local, "initialised", False) and not force:
		return
	_state.set({})
	local.site = site
	local.sites_path = os.path.abspath(sites_path)
	local.site_path = os.path.join(local.sites_path, site or "")
	local.conf = _dict(get_site_config())
	add_app_paths(local.sites_path, local.conf.installed_apps or ())
	local.db = None
	local.lang = local.conf.lang or "en"
	local.flags = _dict(in_test=False, currently_saving=[])
	local.form_dict = _dict()
	local.request = None
	local.request_ip = None
	local.response = _dict(docs=[])
	local.error_log, local.message_log = [], []
	local.realtime_log = []
	local.session = _dict(user=None, sid=None, data=_dict())
	clear_request_cache()
	local.initialised = True


def add_app_paths(sites_path: str, apps) -> None:
	"""Make the apps in apps/NAME beside the sites importable, as on a bench."""
	for app in apps:
		folder = os.path.join(os.path.dirname(sites_path), "apps", app)
		if folder not in sys.path and os.path.isdir(folder):
			sys.path.append(folder)


def connect(site: str | None = None, db_name: str | None = None, set_admin_as_user: bool = True):
	"""Open the site's database; the user becomes Administrator unless told otherwise."""
	if site:
		init(site, getattr(local, "sites_path", "."))
	from frappe.database import get_db

	local.db = get_db(Path(local.site_path) / "site.db")
	if set_admin_as_user:
		set_user("Administrator")


def destroy():
	"""Close the database, discarding uncommitted writes, and clear the context."""
	if database := getattr(local, "db", None):
		database.close()
	release_local()


@contextmanager
def opened(site: str, sites_path: str):
	"""Open a site as Administrator on a separate connection. Uncommitted writes are discarded at the end."""
	init(site, sites_path=sites_path, force=True)
	try:
		connect()
		yield
	finally:
		destroy()


def set_user(username: str):
	"""Run as this user from now on. Clears values cached for the previous one."""
	local.session.user = username
	local.session.sid = username
	local.session.data = _dict()
	local.form_dict = _dict()
	clear_request_cache()


def clear_request_cache():
	"""Clear values cached in the running context."""
	local.cache = {}
	local.document_cache = {}
	local.role_permissions = {}


def get_site_config(sites_path: str | None = None, site_path: str | None = None) -> _dict:
	"""The site's configuration: site_config.json over common_site_config.json."""
	config = _dict()
	for folder, name in (
		(sites_path or local.sites_path, "common_site_config.json"),
		(site_path or local.site_path, "site_config.json"),
	):
		file = Path(folder) / name
		if file.is_file():
			config.update(json.loads(file.read_text(encoding="utf-8")))
	return config


def get_site_path(*joins) -> str:
	"""A path below the site's folder."""
	return os.path.join(local.site_path, *joins)
