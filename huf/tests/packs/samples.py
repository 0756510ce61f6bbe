"""Base classes for tests of packs, generated or shipped, and row counts of the site, to compare."""

import json
import shutil
import tempfile
from pathlib import Path

import frappe

from huf.ai.packs.install import InstallReport, install_pack
from huf.ai.packs.removing import remove_pack
from huf.ai.packs.shipped import PackSource, find_pack
from huf.tests.base import SiteTestCase

MANAGER = {"role": "Huf Manager", "read": 1, "write": 1, "create": 1, "delete": 1}
LOG_TABLES = (
	*(
		"tabError Log",
		"tabDeleted Document",
		"tabVersion",
		"tabComment",
		"tabActivity Log",
		"tabPermission Log",
		"tabRoute History",
	),
	*("tabAccess Log", "tabScheduled Job Log", "tabNotification Log", "tabEmail Queue"),
)
"""Tables in which Frappe logs its own activity."""


class PackTestCase(SiteTestCase):
	"""`folder` is a pack that `write` fills; the installed pack is removed after the test."""

	def setUp(self):
		super().setUp()
		self.key = frappe.generate_hash(length=6)
		self.name = f"test_{self.key}"
		self.folder = Path(tempfile.mkdtemp(prefix="huf-test-"))
		self.addCleanup(shutil.rmtree, self.folder)
		self.addCleanup(self.clear)
		self.plant, self.agent = f"Plant {self.key}", f"Gardener {self.key}"
		self.role = f"Garden {self.key}"
		self.write()

	def write(self, version="1.0", instructions="Water them.", fields=("height",), plants=("Rose",), more=""):
		agents = f"""
agents:
  - agent_name: {self.agent}
    instructions_file: prompt.md
    temperature: 0.2
    tools: [list_{self.key}, extract_text]
tools:
  - tool_name: list_{self.key}
    types: Get List
    reference_doctype: {self.plant}
    description: List plants
"""
		head = f'pack: {self.name}\ntitle: Test\nversion: "{version}"\nroles: [{self.role}]\n'
		self.put("pack.yaml", head + agents + more)
		self.put("prompt.md", instructions)
		columns = [{"fieldname": "plant_name", "fieldtype": "Data", "label": "Name", "reqd": 1, "unique": 1}]
		columns += [{"fieldname": name, "fieldtype": "Int", "label": name.title()} for name in fields]
		doctype = {"doctype": "DocType", "name": self.plant, "module": "Huf", "custom": 1}
		rules = [MANAGER, {"role": self.role, "read": 1}]
		doctype |= {"autoname": "field:plant_name", "fields": columns, "permissions": rules}
		self.put("doctypes.json", json.dumps([doctype]))
		samples = [
			{"doctype": self.plant, "plant_name": f"{name} {self.key}", "height": 3} for name in plants
		]
		self.put("records.json", json.dumps(samples))

	def put(self, name: str, text: str) -> None:
		(self.folder / name).write_text(text, encoding="utf-8")

	def install(self):
		return install_pack(PackSource(self.folder))

	def install_files(self, files: dict[str, str]) -> InstallReport:
		folder = Path(tempfile.mkdtemp(prefix="huf-test-"))
		self.addCleanup(shutil.rmtree, folder)
		for path, content in files.items():
			(folder / path).parent.mkdir(exist_ok=True)
			(folder / path).write_text(content, encoding="utf-8")
		return install_pack(PackSource(folder), has_moved=True)

	def clear(self) -> None:
		frappe.set_user("Administrator")
		frappe.db.rollback()
		if frappe.db.exists("Agent Pack", self.name):
			remove_pack(self.name, with_records=True)


class ShippedPackCase(SiteTestCase):
	"""Installs the shipped pack `name` for the tests of a class, and removes it after them."""

	name = ""

	@classmethod
	def setUpClass(cls):
		super().setUpClass()
		frappe.set_user("Administrator")
		frappe.db.rollback()
		install_pack(find_pack(cls.name))

	@classmethod
	def tearDownClass(cls):
		frappe.set_user("Administrator")
		frappe.db.rollback()
		remove_pack(cls.name, with_records=True)
		super().tearDownClass()


def what_there_is() -> dict[str, int]:
	"""{table: number of rows}, without Frappe's logs."""
	frappe.db.commit()
	tables = frappe.db.get_tables(cached=False)
	tables = [name for name in tables if name.startswith("tab") and not name.startswith(LOG_TABLES)]
	return {name: frappe.db.sql(f"select count(*) from `{name}`")[0][0] for name in sorted(tables)}
