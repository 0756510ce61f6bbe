"""Every shipped pack passes its eval cases, can be updated, and leaves nothing behind when removed."""

import re
import shutil
import tempfile
from pathlib import Path

import frappe

from huf.ai.evals.runner import RECORDED, evaluate_agent
from huf.ai.packs.install import install_pack
from huf.ai.packs.removing import remove_pack
from huf.ai.packs.shipped import PackSource, find_shipped_packs
from huf.tests.base import SiteTestCase
from huf.tests.packs.samples import what_there_is

MIN_CASES = 10


class TestShippedPacks(SiteTestCase):
	def test_every_pack_passes_its_cases_and_is_removed_without_a_trace(self):
		for name, source in own_packs().items():
			with self.subTest(name):
				self.addCleanup(clear, name)
				clear(name)
				before, files = what_there_is(), private_files()
				install_pack(source)
				installed = what_there_is()
				self.check_cases(name)
				again = install_pack(source)
				self.assertEqual((again.made, again.changed, again.removed), ([], [], []))
				self.assertEqual(what_there_is(), installed)
				self.update(source)
				remove_pack(name)
				self.assertEqual(what_there_is(), before)
				self.assertEqual(private_files(), files)

	def check_cases(self, name: str) -> None:
		agents = frappe.get_all(
			"Agent Pack Record", {"parent": name, "record_doctype": "Agent"}, pluck="record_name"
		)
		reports = [evaluate_agent(agent, 1, RECORDED) for agent in agents]
		faults = [case for report in reports for case in report.as_dict()["cases"] if not case["passed"]]
		self.assertEqual(faults, [])
		self.assertGreaterEqual(sum(len(report.results) for report in reports), MIN_CASES)

	def update(self, source: PackSource) -> None:
		"""Update to a version with other instructions of an agent and without the eval cases."""
		root = Path(tempfile.mkdtemp(prefix="huf-test-"))
		self.addCleanup(shutil.rmtree, root)
		folder = root / source.folder.name
		shutil.copytree(source.folder, folder)
		file = folder / "pack.yaml"
		file.write_text(re.sub(r'version: ".*"', 'version: "99"', file.read_text()))
		prompt = next(
			path for path in folder.rglob("*") if path.suffix in (".md", ".txt") and "prompt" in str(path)
		)
		prompt.write_text("Quite new.")
		cases = folder / "evals.yaml"
		cases.write_text(re.split(r"^(?=- case:)", cases.read_text(), flags=re.MULTILINE)[0])
		report = install_pack(PackSource(folder, source.app))
		self.assertTrue([line for line in report.changed if line.startswith("Agent ")])
		self.assertGreaterEqual(len(report.removed), MIN_CASES)


def clear(name: str) -> None:
	"""Remove the pack if an interrupted test has left it."""
	frappe.db.rollback()
	if frappe.db.exists("Agent Pack", name):
		remove_pack(name, with_records=True)


def own_packs() -> dict[str, PackSource]:
	return {name: source for name, source in find_shipped_packs().items() if source.app == "huf"}


def private_files() -> set[str]:
	folder = Path(frappe.get_site_path("private", "files"))
	return {path.name for path in folder.glob("*")}
