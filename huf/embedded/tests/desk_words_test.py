"""Texts of Desk scripts, reports, cards, charts and fields are translated into each language of Huf."""

import ast
import csv
import json
import re
import unittest
from pathlib import Path

APP = Path(__file__).resolve().parents[2]
LANGUAGES = ("de", "es", "cs")
MESSAGE = re.compile(r'__\(\s*"([^"]+)"')
LABEL = re.compile(r'"label": "([^"]+)"')
CODE = re.compile(r"\d+|[A-Z]+|[a-z]+(_[a-z]+)+")
# Frappe translates these itself, though not into Czech; our translations would show on its other pages too.
# The embedded runtime translates texts of fields itself, in frappe/translations.
FRAPPE_WORDS = {
	*("Chat", "Timeline", "Disabled", "Enabled", "Reason", "Events", "Document", "Models", "From", "To"),
	*(
		"Group By",
		"Status",
		"About",
		"Group",
		"Created",
		"User",
		"Steps",
		"Call",
		"Error",
		"Other",
		"Reports",
	),
	*("Run", "Huf", "Field", "Before", "Submitted", "Cancelled", "Deleted", "Webhook"),
	*("Create", "Delete", "Submit", "Cancel", "{0} {1} not found"),
}


def find_words() -> set[str]:
	scripts = [*APP.glob("huf/**/*.js"), *APP.glob("public/*.js")]
	found = {word for script in scripts for word in MESSAGE.findall(script.read_text())}
	for report in APP.glob("huf/report/*/*.py"):
		found |= set(LABEL.findall(report.read_text()))
	workspace = json.loads((APP / "huf/workspace/huf/huf.json").read_text())
	rows = (row for part in ("links", "shortcuts", "number_cards", "charts") for row in workspace[part])
	return found | {row["label"] for row in rows}


def find_messages() -> set[str]:
	"""Texts that the app's modules translate, such as errors of forms."""
	found = set()
	for package in ("ai", "api", "huf", "www"):
		for file in (APP / package).rglob("*.py"):
			calls = (node for node in ast.walk(ast.parse(file.read_text())) if isinstance(node, ast.Call))
			for call in calls:
				name = getattr(call.func, "id", getattr(call.func, "attr", ""))
				if name == "_" and call.args and isinstance(call.args[0], ast.Constant):
					found.add(call.args[0].value)
	return found


def find_field_words() -> set[str]:
	"""Names of DocTypes, labels, descriptions and choices."""
	found = set()
	for file in APP.glob("huf/doctype/*/*.json"):
		doctype = json.loads(file.read_text())
		found.add(doctype["name"])
		for field in doctype["fields"]:
			found |= {field.get("label"), field.get("description")}
			if field["fieldtype"] == "Select":
				found |= {choice.strip() for choice in (field.get("options") or "").split("\n")}
	return {word for word in found if word and not CODE.fullmatch(word)}


def read(*parts: str) -> list[tuple[str, str]]:
	with open(APP.joinpath(*parts), newline="") as file:
		return [(source, text) for source, text in csv.reader(file)]


class TestWordsOfTheDesk(unittest.TestCase):
	def test_each_word_has_a_translation(self):
		for language in LANGUAGES:
			with self.subTest(language):
				rows = read("translations", f"{language}.csv")
				translated = {source for source, text in rows if text}
				self.assertEqual((find_words() | find_messages()) - FRAPPE_WORDS - translated, set())
				frappe_texts = dict(read("embedded", "frappe", "translations", f"{language}.csv"))
				self.assertEqual(find_field_words() - set(frappe_texts) - translated, set())
				self.assertEqual(len(rows), len(translated), "a word is listed twice or has no translation")

	def test_translations_keep_placeholders_and_code_spans(self):
		for language in LANGUAGES:
			for source, text in read("translations", f"{language}.csv"):
				for part in re.findall(r"\{\w+\}|`[^`]+`", source):
					self.assertIn(part, text, source)
