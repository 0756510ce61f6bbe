"""Endpoints about packs: list, describe, install, update, remove, export.

For System Managers and Huf Managers.
"""

import frappe

from huf.ai.core.request_values import read_text_list
from huf.ai.packs import exporting, listing, removing
from huf.ai.packs.install import install_pack
from huf.ai.packs.shipped import find_pack
from huf.permissions import is_manager


@frappe.whitelist(methods=["GET"])
def get_packs():
	"""Packs by name: [{name, title, description, version, installed, app, fault}]; see
	`huf.ai.packs.listing`.
	"""
	check_pack_manager()
	return listing.list_packs()


@frappe.whitelist(methods=["GET"])
def get_pack(name: str):
	"""A pack, with `brings`: [{doctype, names}] and `people`: {DocType: count of records that people
	created}.
	"""
	check_pack_manager()
	return listing.describe_pack(name)


@frappe.whitelist(methods=["POST"])
def install(name: str):
	"""Install a shipped pack: {pack, version, made, changed, kept, left, removed, to_enter}, lists of lines;
	`to_enter`: secrets that a person has to enter.
	"""
	check_pack_manager()
	return install_pack(find_pack(name)).as_dict()


@frappe.whitelist(methods=["POST"])
def update(name: str):
	"""Update an installed pack to the shipped version. Returns what `install` returns."""
	check_pack_manager()
	removing.check_installed(name)
	return install_pack(find_pack(name)).as_dict()


@frappe.whitelist(methods=["POST"])
def remove(name: str, with_records: bool = False):
	"""Remove a pack: {lines, left}; `left`: documents that stay, each with the reason. Refused if people have
	created records of its DocTypes, unless `with_records`.
	"""
	check_pack_manager()
	report = removing.remove_pack(name, with_records)
	return {"lines": report.lines, "left": report.left}


@frappe.whitelist(methods=["GET", "POST"])
def export(
	name: str,
	agents: list | str | None = None,
	doctypes: list | str | None = None,
	with_records: bool = False,
):
	"""Export agents and DocTypes of the site as a pack, {file: text}; without either, the installed pack of
	that name.
	"""
	check_pack_manager()
	agents, doctypes = read_text_list(agents or [], "agents"), read_text_list(doctypes or [], "doctypes")
	if agents or doctypes:
		return exporting.export_pack(name, agents, doctypes, with_records=with_records)
	contents = exporting.read_pack_contents(name)
	return exporting.export_pack(name, *contents, with_records, exporting.read_about(name))


def check_pack_manager() -> None:
	user = frappe.session.user
	if not (is_manager(user) or "System Manager" in frappe.get_roles(user)):
		raise frappe.PermissionError("Only a System Manager or a Huf Manager may manage packs.")
