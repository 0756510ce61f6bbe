"""Words of the Desk: what scripts, reports, cards and charts say has a translation in each language that Huf has."""

import csv
import json
import re
import unittest
from pathlib import Path

APP = Path(__file__).resolve().parents[2]
LANGUAGES = ("de", "es", "cs")
SAID = re.compile(r'__\(\s*"([^"]+)"')
LABEL = re.compile(r'"label": "([^"]+)"')
# Frappe translates these itself, though not into Czech. Words of ours would be read in its other pages too.
OF_FRAPPE = {
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
	*("Run", "Huf", "Field", "Before"),
}


def words() -> set[str]:
	scripts = [*APP.glob("huf/**/*.js"), *APP.glob("public/*.js")]
	found = {word for script in scripts for word in SAID.findall(script.read_text())}
	for report in APP.glob("huf/report/*/*.py"):
		found |= set(LABEL.findall(report.read_text()))
	workspace = json.loads((APP / "huf/workspace/huf/huf.json").read_text())
	rows = (row for part in ("links", "shortcuts", "number_cards", "charts") for row in workspace[part])
	return found | {row["label"] for row in rows}


class TestWordsOfTheDesk(unittest.TestCase):
	def test_each_word_has_a_translation(self):
		for language in LANGUAGES:
			with self.subTest(language), open(APP / "translations" / f"{language}.csv", newline="") as file:
				rows = list(csv.reader(file))
				translated = {source for source, text in rows if text}
				self.assertEqual(words() - OF_FRAPPE - translated, set())
				self.assertEqual(len(rows), len(translated), "a word stands twice, or has no translation")

	def test_what_is_filled_in_is_kept(self):
		for language in LANGUAGES:
			with open(APP / "translations" / f"{language}.csv", newline="") as file:
				for source, text in csv.reader(file):
					self.assertEqual(source.count("{0}"), text.count("{0}"), source)
