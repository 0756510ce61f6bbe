"""Finds the packs that installed apps ship: folders in an app's `huf_packs`, and in Huf's own `packs`.

Read-only.
"""

from dataclasses import dataclass
from pathlib import Path

import frappe

from huf.ai.core.errors import UsageError
from huf.ai.packs.manifest import MANIFEST_FILE, Pack, read_pack

PACK_FOLDERS = {"huf": "packs"}
"""Folders that are not named `huf_packs`, by app."""


@dataclass(frozen=True)
class PackSource:
	"""A pack's folder and the app that ships it, if any; only a shipped pack may contain code."""

	folder: Path
	app: str | None = None

	@property
	def tools_module(self) -> str:
		folder = PACK_FOLDERS.get(self.app or "", "huf_packs")
		return f"{self.app}.{folder}.{self.folder.name}.tools"


def find_shipped_packs() -> dict[str, PackSource]:
	"""{folder name: source}, sorted. If two apps ship the same name, the first installed app wins."""
	found: dict[str, PackSource] = {}
	for app in frappe.get_installed_apps():
		root = Path(frappe.get_app_path(app, PACK_FOLDERS.get(app, "huf_packs")))
		for file in sorted(root.glob(f"*/{MANIFEST_FILE}")):
			found.setdefault(file.parent.name, PackSource(file.parent, app))
	return dict(sorted(found.items()))


def find_pack(name: str) -> PackSource:
	"""A shipped pack by its name. Raises UsageError for an unknown name."""
	packs = find_shipped_packs()
	if name not in packs:
		raise UsageError(f"There is no pack {name!r}. Available: {', '.join(packs) or 'none'}.")
	return packs[name]


def get_pack_source(folder: Path) -> PackSource:
	"""The source for a folder, which may be a shipped pack or one from elsewhere."""
	same = (each for each in find_shipped_packs().values() if each.folder.resolve() == folder.resolve())
	return next(same, None) or PackSource(folder)


def load_pack(source: PackSource) -> Pack:
	"""Parse and check a pack. Raises UsageError."""
	pack = read_pack(source.folder)
	if source.app and pack.name != source.folder.name:
		raise UsageError(
			f"{MANIFEST_FILE}: the pack {pack.name} is in a folder of another name: {source.folder.name}."
		)
	if pack.has_tools and not source.app:
		raise UsageError(
			f"The pack {pack.name} contains code (tools.py), which only a pack of an app may. "
			"Put its folder into the app's huf_packs."
		)
	return pack
