"""Writes the software bill of materials (CycloneDX 1.6, JSON) to sbom.cdx.json, or to a named file.

Components are what requirements.lock and the web app's package-lock.json pin: equal locks make equal files.
"""

import json
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PIN = re.compile(r"^([A-Za-z0-9._-]+)==(\S+)(?: ; ([^\\\n]+))?")


def main(target: str = "sbom.cdx.json") -> None:
	bill = build_bill(read_version(), [*list_python_packages(), *list_npm_packages()])
	Path(target).write_text(json.dumps(bill, indent=1) + "\n")
	print(f"{target}: {len(bill['components'])} components")


def read_version() -> str:
	return re.search(r'__version__ = "([^"]+)"', (ROOT / "huf/__init__.py").read_text())[1]


def list_python_packages() -> list[dict]:
	"""Components of requirements.lock. Those of some systems only have the scope "optional"."""
	components = []
	for line in (ROOT / "requirements.lock").read_text().splitlines():
		if pin := PIN.match(line):
			name, version, marker = pin.groups()
			component = describe(f"pkg:pypi/{name}@{version}", name, version)
			if marker:
				component["scope"] = "optional"
				component["properties"] = [{"name": "python:marker", "value": marker.strip()}]
			components.append(component)
	return components


def list_npm_packages() -> list[dict]:
	"""Components that the web app's build puts into its pages, or is made by; without its tests' packages."""
	packages = json.loads((ROOT / "huf/ui/package-lock.json").read_text())["packages"]
	components = {}
	for path, package in packages.items():
		if path and not package.get("dev"):
			name = package.get("name") or path.rpartition("node_modules/")[2]
			address = f"pkg:npm/{name.replace('@', '%40')}@{package['version']}"
			components[address] = describe(address, name, package["version"])
	return list(components.values())


def describe(address: str, name: str, version: str) -> dict:
	return {"type": "library", "bom-ref": address, "name": name, "version": version, "purl": address}


def build_bill(version: str, components: list[dict]) -> dict:
	application = {"type": "application", "bom-ref": "huf", "name": "huf", "version": version}
	return {
		"$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
		"bomFormat": "CycloneDX",
		"specVersion": "1.6",
		"version": 1,
		"metadata": {"component": application},
		"components": sorted(components, key=lambda component: component["purl"]),
	}


if __name__ == "__main__":
	main(*sys.argv[1:])
