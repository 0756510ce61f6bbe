"""Packs that ship with Huf, one folder each."""

from importlib import import_module
from importlib.util import find_spec
from pkgutil import iter_modules
from typing import Any


def collect_hooks(package: str, hook: str) -> dict[str, Any]:
	"""The values of a Frappe hook in the packs' own hooks.py: {DocType: value}.

	hooks.py of an app calls this for its package of packs, such as "huf.packs". It reads modules only,
	because Frappe loads hooks before there is a site.
	"""
	values: dict[str, Any] = {}
	for pack in iter_modules(import_module(package).__path__, f"{package}."):
		if find_spec(f"{pack.name}.hooks"):
			values |= getattr(import_module(f"{pack.name}.hooks"), hook, {})
	return values
