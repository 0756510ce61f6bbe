"""Prompts of triggers cannot read files of the machine."""

import os
from pathlib import Path

import frappe

from huf.ai.core.errors import UsageError
from huf.ai.triggers.prompts import render_prompt
from huf.tests.base import SiteTestCase
from huf.tests.triggers import TriggerTestCase

TEMPLATES = (
	"{% include 'huf/hooks.py' %}",
	"{% include 'templates/includes/footer/footer.html' ignore missing %}",
	"{% import 'huf/hooks.py' as hooks %}{{ hooks }}",
	"{% from 'huf/hooks.py' import app_name %}",
	"{% extends 'templates/web.html' %}",
	"{% if 1 %}{% for a in 'ab' %}{% include ['huf/hooks.py', 'x'] %}{% endfor %}{% endif %}",
)


class TestPrompts(SiteTestCase):
	def test_include_import_and_extend_are_refused_in_stored_prompts(self):
		for template in TEMPLATES:
			with self.subTest(template), self.assertRaisesRegex(UsageError, "include, import or extend"):
				render_prompt(template, {"doc": {}})

	def test_translations_are_read_from_files_of_languages_only(self):
		file = Path(frappe.get_site_path("private", "files", f"{frappe.generate_hash(length=8)}.csv"))
		file.write_text("Bob,4711\n")
		self.addCleanup(file.unlink)
		name = os.path.relpath(file.with_suffix("").resolve(), frappe.get_app_path("huf", "translations"))
		with self.assertRaisesRegex(UsageError, "is not a language"):
			render_prompt(f"{{{{ _('Bob', '{name}') }}}}", {})
		for language in ("pt-BR", "sr-Latn", "zh_Hant_TW", "es-419"):
			self.assertTrue(render_prompt(f"{{{{ _('Currency', '{language}') }}}}", {}))
		self.assertEqual(
			render_prompt("{{ _('Currency', 'de') }} {{ _('Currency') }}", {}), "Währung Currency"
		)

	def test_prompts_with_variables_and_loops_are_rendered(self):
		template = "{% set a = 2 %}{% for b in [1, 2] %}{{ a * b }} {% endfor %}{{ doc.title }}"
		self.assertEqual(render_prompt(template, {"doc": {"title": "include"}}), "2 4 include")


class TestTrigger(TriggerTestCase):
	def test_triggers_with_include_import_or_extend_are_not_saved(self):
		for template in TEMPLATES:
			with self.subTest(template), self.assertRaisesRegex(Exception, "include, import or extend"):
				self.trigger(prompt=template)
