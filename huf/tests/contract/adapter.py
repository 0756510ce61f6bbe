"""Adapter of the contract kit for the embedded runtime: see the kit's README."""

import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from huf.embedded import site  # noqa: E402

home = tempfile.TemporaryDirectory(prefix="huf-contract-", ignore_cleanup_errors=True)


def prepare(probe_app: str):
	site.create(home.name, admin_password="admin", apps=("frappe", "probe"))
	# By default embedded always requires the CSRF token, and shows tracebacks to developers only.
	folder = site.site_path(home.name)
	site.write_config(folder, {**site.read_config(folder), "csrf_from_first_write": 0, "developer_mode": 1})


def connect():
	import frappe

	frappe.init(site.SITE, sites_path=str(site.sites_path(home.name)), force=True)
	frappe.connect()


def disconnect():
	import frappe

	frappe.destroy()


def wsgi_app():
	import frappe.app

	frappe.app._site, frappe.app._sites_path = site.SITE, str(site.sites_path(home.name))
	return frappe.app.application, site.SITE
