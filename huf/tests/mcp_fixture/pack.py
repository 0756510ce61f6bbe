"""Installs an app with what the MCP conformance suite calls, on a separate site served by `huf start`."""

from pathlib import Path

import frappe

from huf.embedded import site
from huf.embedded.app_commands import write_app
from huf.tests.factories import make_user
from huf.tests.mcp_fixture.server import make_fixture_server

APP = "mcp_fixture_pack"
HOOKS = f"""
huf_mcp_catalogs = ["huf.tests.mcp_fixture.catalog.FixtureCatalog"]
auth_hooks = ["{__name__}.sign_in"]
"""
SERVE = "/huf.api.mcp.serve"
USER_KEY = "mcp_fixture_user"


def install_pack(home: Path) -> str:
	"""Install the app and make its records; returns the slug of the MCP Server."""
	folder = home / "apps" / APP
	write_app(folder, APP)
	with (folder / APP / "hooks.py").open("a", encoding="utf-8") as hooks:
		hooks.write(HOOKS)
	site.install_app(home, APP)
	with site.opened(home):
		slug, user = make_fixture_server(), make_user("Huf User")
		frappe.db.commit()
	site_folder = site.site_path(home)
	site.write_config(site_folder, {**site.read_config(site_folder), USER_KEY: user})
	return slug


def sign_in() -> None:
	"""Sign in the fixture user, as the suite sends no credentials."""
	if frappe.session.user == "Guest" and frappe.local.request.path.endswith(SERVE):
		frappe.set_user(frappe.conf[USER_KEY])
