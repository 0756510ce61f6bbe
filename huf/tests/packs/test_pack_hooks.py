"""Permission hooks of packs are registered in the app and name only the pack's own DocTypes."""

import json
import unittest
from pathlib import Path

import frappe

import huf.packs
from huf.packs import collect_hooks

PERMISSION_HOOKS = ("permission_query_conditions", "has_permission")


class TestPackHooks(unittest.TestCase):
	def test_pack_permission_hooks_are_registered_in_the_app(self):
		for hook in PERMISSION_HOOKS:
			pack_hooks = collect_hooks("huf.packs", hook)
			self.assertTrue(pack_hooks)
			registered = frappe.get_hooks(hook)
			for doctype, path in pack_hooks.items():
				self.assertIn(path, registered[doctype])
				self.assertTrue(callable(frappe.get_attr(path)))

	def test_pack_permission_hooks_name_only_doctypes_of_the_pack(self):
		for hook in PERMISSION_HOOKS:
			for doctype, path in collect_hooks("huf.packs", hook).items():
				folder = Path(huf.packs.__file__).parent / path.split(".")[2]
				own = [each["name"] for each in json.loads((folder / "doctypes.json").read_text())]
				self.assertIn(doctype, own)
