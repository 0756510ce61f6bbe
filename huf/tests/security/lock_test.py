"""requirements.lock pins everything that `scripts/start` installs, and the bill of materials lists it."""

import hashlib
import json
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[3]
PIN = re.compile(r"^([\w.-]+)==([^\s;]+)([^\n]*\n(?:    --hash=[^\n]+\n?)*)", re.MULTILINE)


def read_pins() -> dict[str, list[tuple[str, str]]]:
	"""{name: [(version, the rest of its entry)]}"""
	pins: dict[str, list] = {}
	for name, version, rest in PIN.findall((ROOT / "requirements.lock").read_text()):
		pins.setdefault(canonicalize_name(name), []).append((version, rest))
	return pins


@unittest.skipIf(sys.version_info < (3, 11), "tomllib is new in Python 3.11")
class TestLock(unittest.TestCase):
	def test_every_requirement_is_pinned_within_its_limits(self):
		import tomllib

		project = tomllib.loads((ROOT / "pyproject.toml").read_text())
		texts = project["project"]["dependencies"] + project["build-system"]["requires"]
		texts += project["project"]["optional-dependencies"]["embedded"]
		pins = read_pins()
		for requirement in map(Requirement, texts):
			versions = [version for version, _rest in pins.get(canonicalize_name(requirement.name), [])]
			self.assertTrue(versions, f"{requirement}: run scripts/lock")
			outside = [each for each in versions if not requirement.specifier.contains(each)]
			self.assertEqual(outside, [], f"{requirement}: run scripts/lock")

	def test_every_pin_has_hashes_and_no_url(self):
		text = (ROOT / "requirements.lock").read_text()
		self.assertNotIn("://", text)
		self.assertNotIn("--index", text)
		for name, entries in read_pins().items():
			for _version, rest in entries:
				self.assertRegex(rest, r"--hash=sha256:[0-9a-f]{64}", name)


class TestBillOfMaterials(unittest.TestCase):
	def make(self, folder: str, name: str) -> dict:
		file = Path(folder) / name
		command = [sys.executable, str(ROOT / "scripts/sbom.py"), str(file)]
		subprocess.run(command, check=True, capture_output=True, timeout=60)
		return json.loads(file.read_text())

	def test_the_bill_of_materials_is_reproducible_and_lists_all_pins(self):
		with tempfile.TemporaryDirectory() as folder:
			bill = self.make(folder, "one.json")
			self.make(folder, "two.json")
			first, second = (Path(folder, name).read_bytes() for name in ("one.json", "two.json"))
		self.assertEqual(hashlib.sha256(first).digest(), hashlib.sha256(second).digest())
		self.assertEqual((bill["bomFormat"], bill["specVersion"]), ("CycloneDX", "1.6"))
		addresses = {component["purl"] for component in bill["components"]}
		self.assertEqual(len(addresses), len(bill["components"]))
		for name, entries in read_pins().items():
			for version, _rest in entries:
				self.assertIn(f"pkg:pypi/{name}@{version}", addresses)
		packages = json.loads((ROOT / "huf/ui/package-lock.json").read_text())["packages"]
		self.assertIn(f"pkg:npm/vue@{packages['node_modules/vue']['version']}", addresses)
		self.assertNotIn("axe-core", {component["name"] for component in bill["components"]})
