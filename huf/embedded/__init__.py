"""The embedded runtime: `import frappe` without a bench.

`install()` imports nothing heavy. README.md says what the embedded runtime is and is not.
"""

import importlib.util
import sys
from pathlib import Path

FOLDER = Path(__file__).resolve().parent


def install():
	"""Make `import frappe` work: real Frappe if it is installed, else the subset in this folder.

	Raises ImportError if another package called `frappe` (such as PyPI's placeholder) is in the way.
	"""
	if "frappe" in sys.modules or str(FOLDER) in sys.path:
		return
	found = importlib.util.find_spec("frappe")
	if found is None:
		sys.path.append(str(FOLDER))
	elif not is_real_frappe(found):
		places = ", ".join(found.submodule_search_locations or [str(found.origin)])
		raise ImportError(
			f"A package called frappe that is not Frappe is installed at {places}: uninstall it."
		)


def is_real_frappe(spec) -> bool:
	"""Frappe has a `model` package; the placeholder of the same name on PyPI has not."""
	return any((Path(place) / "model").is_dir() for place in spec.submodule_search_locations or ())
