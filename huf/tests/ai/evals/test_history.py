"""The progress and results of an agent's evals are recorded."""

from contextlib import suppress
from datetime import datetime
from threading import Barrier, BrokenBarrierError
from unittest.mock import patch

import frappe
from frappe.utils import add_to_date

from huf.ai.core import times
from huf.ai.core.errors import UsageError
from huf.ai.evals import history, pending_changes
from huf.ai.evals.cases import dump_definition
from huf.ai.evals.runner import RECORDED, format_result, format_summary
from huf.api import eval as api
from huf.tests.ai.evals.test_evaluation import EvalTestCase
from huf.tests.contract.connections import together


class TestHistory(EvalTestCase):
	def setUp(self):
		super().setUp()
		self.case({"says": "yes"}, name="good", answers=[{"say": "yes"}])
		self.case({"says": "yes"}, name="bad", answers=[{"say": "no"}])

	def run_eval(self) -> list:
		with patch.object(frappe, "enqueue") as enqueue:
			record = api.run(self.agent, 2, RECORDED)["eval"]
		values = enqueue.call_args.kwargs
		self.assertTrue(values["enqueue_after_commit"], "a worker must find the record")
		frappe.db.commit()
		self.assertEqual(values["record"], record)
		pending_changes.run_job(
			**{key: values[key] for key in ("agent", "times", "model", "judge", "record")}
		)
		return api.get_cases(self.agent)["evals"]

	def test_attempts_are_counted_by_version_and_model(self):
		(first,) = self.run_eval()
		self.assertEqual((first.status, first.cases, first.done), ("Finished", 2, 2))
		self.assertEqual((first.attempts, first.passed, first.model), (4, 2, RECORDED))
		frappe.get_doc("Agent", self.agent).update({"instructions": "Say yes."}).save(ignore_version=False)
		second, older = self.run_eval()
		self.assertEqual(older.name, first.name)
		self.assertEqual(second.instructions_version, first.instructions_version + 1)

	def test_the_record_says_which_version_its_job_evaluated(self):
		frappe.db.set_value("Agent", self.agent, "pending_changes", '{"instructions": "Say yes."}')
		record = history.begin_eval(self.agent, RECORDED)
		pending_changes.discard_pending_changes(self.agent)
		frappe.db.commit()
		pending_changes.run_job(self.agent, 1, RECORDED, None, record)
		(row,) = history.list_evals(self.agent)
		self.assertEqual((row.with_changes, row.instructions_version), (0, 1))

	def test_an_agent_has_one_running_eval_and_a_stale_one_counts_as_failed(self):
		record = history.begin_eval(self.agent, RECORDED)
		self.assertRaises(UsageError, history.begin_eval, self.agent, RECORDED)
		frappe.db.set_value(history.EVAL, record, "modified", "2026-01-01 00:00:00", update_modified=False)
		(stale,) = history.list_evals(self.agent)
		self.assertEqual(stale.status, "Failed")
		self.assertNotEqual(history.begin_eval(self.agent, RECORDED), record)

	def test_an_eval_whose_job_is_gone_is_failed_and_can_be_run_again(self):
		record = history.begin_eval(self.agent, RECORDED)
		minutes_ago = add_to_date(None, minutes=-2)
		frappe.db.set_value(history.EVAL, record, "modified", minutes_ago, update_modified=False)
		with patch.object(history, "get_job_status", return_value="started"):
			self.assertEqual(history.list_evals(self.agent)[0].status, "Queued")
		self.assertEqual(history.list_evals(self.agent)[0].status, "Failed")
		self.assertNotEqual(history.begin_eval(self.agent, RECORDED), record)

	def test_of_two_requests_at_once_one_starts_an_eval(self):
		both_have_looked = Barrier(2)
		list_evals = history.list_evals

		def look(agent: str) -> list:
			rows = list_evals(agent)
			with suppress(BrokenBarrierError):
				both_have_looked.wait(1)
			return rows

		def request() -> str | None:
			try:
				record = api.run(self.agent, 1, RECORDED)["eval"]
				frappe.db.commit()
				return record
			except UsageError:
				return None

		with patch.object(history, "list_evals", look), patch.object(frappe, "enqueue"):
			records = together([(request,), (request,)])
		self.assertEqual(len(list(filter(None, records))), 1)

	def test_an_eval_is_not_stale_because_clocks_were_set_forward(self):
		record = history.begin_eval(self.agent, RECORDED)
		frappe.db.set_value(history.EVAL, record, "modified", "2027-03-28 01:59:00", update_modified=False)
		with (
			patch.object(times, "get_system_timezone", return_value="Europe/Berlin"),
			patch.object(history, "now_datetime", return_value=datetime(2027, 3, 28, 3, 1)),
			patch.object(history, "get_job_status", return_value="started"),
		):
			self.assertEqual(history.list_evals(self.agent)[0].status, "Queued")

	def test_the_error_that_ends_an_eval_is_stored_on_its_record(self):
		record = history.begin_eval(self.agent, "No such model")
		frappe.db.commit()
		with self.assertRaises(UsageError):
			pending_changes.run_job(self.agent, 1, "No such model", None, record)
		(failed,) = history.list_evals(self.agent)
		self.assertEqual(failed.status, "Failed")
		self.assertIn("No such model", failed.error)

	def test_an_unknown_model_or_judge_is_refused_before_anything_is_queued(self):
		for models in ({"model": "gpt-none"}, {"judge": "gpt-none"}):
			with self.assertRaisesRegex(UsageError, "no AI Model 'gpt-none'"):
				api.run(self.agent, **models)
		self.assertEqual(api.get_cases(self.agent)["evals"], [])

	def test_evals_are_deleted_with_their_agent(self):
		self.run_eval()
		frappe.delete_doc("Agent", self.agent)
		self.assertEqual(frappe.db.count(history.EVAL, {"agent": self.agent}), 0)

	def test_results_are_stored_on_the_case_and_formatted(self):
		frappe.db.delete("Agent Eval Case", {"agent": self.agent})
		name = self.case({"says": "Done"}, {"calls": self.create}, answers=[{"say": "Done."}])
		report = self.run_cases(times=2)
		stored = frappe.db.get_value("Agent Eval Case", name, ["passed", "times", "last_model"])
		self.assertEqual(stored, (0, 2, RECORDED))
		self.assertIn(f"{self.create} was not called", format_result(report.results[0]))
		self.assertEqual(list(format_summary(report))[1], "pass^1 0.00  pass^2 0.00")

	def test_a_case_that_fails_shows_the_answer_until_it_passes(self):
		answers, shown = [{"say": "There are 19."}], []
		name = self.case({"says": "twenty"}, answers=answers)
		for expected in ("twenty", "19"):
			definition = dump_definition({"expect": [{"says": expected}], "answers": answers})
			frappe.db.set_value("Agent Eval Case", name, "definition", definition)
			frappe.db.commit()
			self.run_cases()
			shown.append(frappe.db.get_value("Agent Eval Case", name, "last_answer"))
		self.assertEqual(shown, ["There are 19.", None])

	def test_a_long_fault_is_shortened(self):
		frappe.db.delete("Agent Eval Case", {"agent": self.agent})
		call = {"call": self.create, "with": {"description": "x" * 70_000}}
		name = self.case({"calls": self.read}, answers=[call, {"say": "Done."}])
		self.run_cases()
		self.assertTrue(frappe.db.get_value("Agent Eval Case", name, "last_fault").endswith("…"))
