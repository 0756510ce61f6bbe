"""Generated operations get the answers on which Frappe 15.55.1 and 17.0.0-dev agreed.

See `operations.py`, `parcel_operations.py`, `voucher_operations.py` and `call_operations.py`.
"""

import json
from pathlib import Path

from huf.tests.base import SiteTestCase
from huf.tests.contract import call_operations, parcel_operations, voucher_operations
from huf.tests.contract.operations import Replay

RECORDED = Path(__file__).with_name("recorded_operations.jsonl")
RECORDED_CALLS = Path(__file__).with_name("recorded_calls.jsonl")
RECORDED_PARCELS = Path(__file__).with_name("recorded_parcels.jsonl")
RECORDED_VOUCHERS = Path(__file__).with_name("recorded_vouchers.jsonl")


class TestOperations(SiteTestCase):
	maxDiff = None

	def test_every_recorded_operation_has_the_recorded_answer(self):
		self.assert_answers(Replay(), RECORDED)

	def test_so_has_every_one_of_several_people_on_child_tables_shares_names_and_uploads(self):
		self.assert_answers(parcel_operations.Replay(), RECORDED_PARCELS)

	def test_so_has_every_one_that_submits_cancels_amends_and_calls_frappe_client(self):
		self.assert_answers(voucher_operations.Replay(), RECORDED_VOUCHERS)

	def test_so_has_every_one_that_calls_the_database_and_conversions(self):
		self.assert_answers(call_operations.Replay(), RECORDED_CALLS)

	def assert_answers(self, replay, recorded: Path):
		for line in recorded.read_text().split("\n")[:-1]:
			case = json.loads(line)
			with self.subTest(line):
				self.assertEqual(replay.run(case["operation"]), case["answer"])

	def test_text_that_looks_like_the_beginning_of_a_tag_is_kept(self):
		for text in ("x<y", "a < b", "1<2 and 3>2"):
			with self.subTest(text):
				self.assertEqual(Replay().run({"do": "insert", "values": {"note": text}})["note"], text)
