"""Generated operations have the answers that Frappe 15.55.1 and 17.0.0-dev gave alike (see `operations.py`)."""

import json
from pathlib import Path

from huf.tests.base import SiteTestCase
from huf.tests.contract.operations import Replay

RECORDED = Path(__file__).with_name("recorded_operations.jsonl")


class TestOperations(SiteTestCase):
	maxDiff = None

	def test_every_recorded_operation_has_the_recorded_answer(self):
		replay = Replay()
		for line in RECORDED.read_text().splitlines():
			case = json.loads(line)
			with self.subTest(line):
				self.assertEqual(replay.run(case["operation"]), case["answer"])

	def test_text_that_looks_like_the_beginning_of_a_tag_is_kept(self):
		for text in ("x<y", "a < b", "1<2 and 3>2"):
			with self.subTest(text):
				self.assertEqual(Replay().run({"do": "insert", "values": {"note": text}})["note"], text)
