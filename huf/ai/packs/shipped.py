"""Packs that this site's apps ship: folders of an app's `huf_packs`, and Huf's own `packs`. Only looks."""

from dataclasses import dataclass
from pathlib import Path

import frappe

from huf.ai.core.errors import UsageError
from huf.ai.packs.manifest import FILE, Pack, read_pack

FOLDERS = {"huf": "packs"}
"""Where Huf keeps its own; those of other apps are in `huf_packs`."""


@dataclass(frozen=True)
class Source:
	"""A pack's folder, and the app that ships it: only such a pack may bring code."""

	folder: Path
	app: str | None = None

	@property
	def tools_module(self) -> str:
		return f"{self.app}.{FOLDERS.get(self.app, 'huf_packs')}.{self.folder.name}.tools"


def shipped_packs() -> dict[str, Source]:
	"""{folder's name: where it is}, by name; of two apps' packs of one name the first app's."""
	found: dict[str, Source] = {}
	for app in frappe.get_installed_apps():
		root = Path(frappe.get_app_path(app, FOLDERS.get(app, "huf_packs")))
		for file in sorted(root.glob(f"*/{FILE}")):
			found.setdefault(file.parent.name, Source(file.parent, app))
	return dict(sorted(found.items()))


def find_pack(name: str) -> Source:
	"""A shipped pack by its name. Raises UsageError."""
	packs = shipped_packs()
	if name not in packs:
		raise UsageError(f"There is no pack {name!r}. There are: {', '.join(packs) or 'none'}.")
	return packs[name]


def source_of(folder: Path) -> Source:
	"""A folder as the shipped pack that it is, or as a pack from elsewhere."""
	same = (each for each in shipped_packs().values() if each.folder.resolve() == folder.resolve())
	return next(same, None) or Source(folder)


def load_pack(source: Source) -> Pack:
	"""Read and check it. Raises UsageError."""
	pack = read_pack(source.folder)
	if source.app and pack.name != source.folder.name:
		raise UsageError(
			f"{FILE}: the pack {pack.name} is in a folder of another name: {source.folder.name}."
		)
	if pack.has_tools and not source.app:
		raise UsageError(
			f"The pack {pack.name} brings code (tools.py), which only an app may: put its folder into the app's huf_packs."
		)
	return pack
