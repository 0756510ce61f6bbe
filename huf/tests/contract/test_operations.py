"""Generated operations return what Frappe 15.55.1 and 17.0.0-dev both answered on MariaDB.

See `operations.py`, `parcel_operations.py`, `voucher_operations.py` and `call_operations.py`; answers that
differ on Postgres are in `postgres_answers.py`.
"""

import json
from pathlib import Path

import frappe

from huf.tests.base import SiteTestCase
from huf.tests.contract import call_operations, parcel_operations, postgres_answers, voucher_operations
from huf.tests.contract.operations import Replay

RECORDED = Path(__file__).with_name("recorded_operations.jsonl")
RECORDED_CALLS = Path(__file__).with_name("recorded_calls.jsonl")
RECORDED_PARCELS = Path(__file__).with_name("recorded_parcels.jsonl")
RECORDED_VOUCHERS = Path(__file__).with_name("recorded_vouchers.jsonl")
REPLAYS = [
	(RECORDED, Replay),
	(RECORDED_PARCELS, parcel_operations.Replay),
	(RECORDED_VOUCHERS, voucher_operations.Replay),
	(RECORDED_CALLS, call_operations.Replay),
]


class TestOperations(SiteTestCase):
	maxDiff = None

	def test_document_operations_match_the_recorded_answers(self):
		self.assert_answers(*REPLAYS[0])

	def test_child_tables_shares_names_and_uploads_match_the_recorded_answers(self):
		self.assert_answers(*REPLAYS[1])

	def test_submit_cancel_amend_and_frappe_client_match_the_recorded_answers(self):
		self.assert_answers(*REPLAYS[2])

	def test_database_calls_and_conversions_match_the_recorded_answers(self):
		self.assert_answers(*REPLAYS[3])

	def assert_answers(self, recorded: Path, replay_class):
		postgres = postgres_answers.read_answers() if frappe.db.db_type == "postgres" else {}
		replay = replay_class()
		for line in recorded.read_text().split("\n")[:-1]:
			case = json.loads(line)
			expected = postgres.get(postgres_answers.to_key(case["operation"]), case["answer"])
			with self.subTest(line):
				self.assertEqual(replay.run(case["operation"]), expected)

	def test_every_different_postgres_answer_has_an_explanation(self):
		key, postgres = postgres_answers.to_key, postgres_answers.read_answers()
		cases = [case for path, _ in REPLAYS for case in postgres_answers.read_cases(path)]
		self.assertLessEqual(postgres.keys(), {key(case["operation"]) for case in cases})
		for operation, recorded in ((case["operation"], case["answer"]) for case in cases):
			if key(operation) in postgres:
				with self.subTest(operation):
					self.assertTrue(postgres_answers.explain(operation, recorded, postgres[key(operation)]))

	def test_text_that_looks_like_the_beginning_of_a_tag_is_kept(self):
		for text in ("x<y", "a < b", "1<2 and 3>2"):
			with self.subTest(text):
				self.assertEqual(Replay().run({"do": "insert", "values": {"note": text}})["note"], text)
