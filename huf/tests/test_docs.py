"""Files and tests that the documentation names exist."""

import re
import unittest
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = (
	"AGENTS.md",
	"README.md",
	"SECURITY.md",
	"docs/architecture.md",
	"docs/web.md",
	"docs/speed.md",
	"huf/embedded/README.md",
	"huf/ui/README.md",
)
SECURITY_TESTS = ROOT / "huf/tests/security"
PATH = re.compile(r"`([\w./-]+(?:\.(?:py|ts|js|json|yaml|md|txt|csv)|/))`")
TEST = re.compile(r"`(test_\w+|Test\w+)`")
DEFINED = re.compile(r"(?:def|class) ([Tt]est\w+)\(")


class TestDocs(unittest.TestCase):
	def test_every_file_that_a_page_names_exists(self):
		for page in PAGES:
			own = (ROOT / page).parent
			bases = (
				ROOT,
				ROOT / "huf",
				ROOT / "huf" / "ai",
				own,
				own / "src",
				own / "frappe",
				SECURITY_TESTS,
			)
			names = set(PATH.findall((ROOT / page).read_text()))
			self.assertTrue(names, page)
			missing = [name for name in names if not any((base / name).exists() for base in bases)]
			self.assertEqual(missing, [], page)

	def test_every_feature_of_the_seeds_has_a_test_or_is_called_open(self):
		rows = [line for line in (ROOT / "docs/seeds.md").read_text().splitlines() if line.startswith("| ")]
		features = [row.split(" | ") for row in rows if not row.startswith("| feature")]
		self.assertGreater(len(features), 100)
		untested = [each[0] for each in features if not TEST.search(each[1]) and each[1] != "Open"]
		self.assertEqual(untested, [])

	def test_every_test_that_a_page_names_exists(self):
		defined = {name for path in ROOT.glob("huf/**/*.py") for name in DEFINED.findall(path.read_text())}
		for page in (*PAGES, "docs/seeds.md"):
			named = set(TEST.findall((ROOT / page).read_text()))
			self.assertEqual(named - defined, set(), page)
