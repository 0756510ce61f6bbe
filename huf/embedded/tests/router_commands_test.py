"""The commands `huf router eval` and `huf router fit`."""

import json
import tempfile
import unittest
from pathlib import Path

import frappe
from click.testing import CliRunner

from huf.ai.routing import training
from huf.ai.storage.route_decisions import insert_decision, link_run
from huf.embedded.cli import cli
from huf.embedded.tests.sites import SiteTestCase, isolated

MESSAGES = Path(training.__file__).with_name("test.jsonl")


def run(*arguments: str):
	return CliRunner().invoke(cli, list(arguments))


class TestEval(unittest.TestCase):
	def test_eval_prints_accuracy_f1_languages_and_latency(self):
		output = run("router", "eval", str(MESSAGES)).output
		self.assertRegex(output, r"all +657 +0\.9\d+ +0\.9\d+")
		for language in ("en", "es", "de", "cs"):
			self.assertRegex(output, rf"\n{language} +\d+ +0\.9")
		self.assertRegex(output, r"latency p50 [\d.]+ ms, p95 [\d.]+ ms")

	def test_wrong_option_of_eval_lists_misrouted_messages(self):
		row = {"text": "Search the web for pallet prices", "label": "chat", "language": "en"}
		output = self.eval(json.dumps(row), "--wrong").output
		self.assertIn("chat expected, 0.90 for the agent: Search the web for pallet prices", output)

	def test_invalid_messages_file_is_refused_with_a_reason(self):
		for text, reason in (
			("{", "line 1: invalid JSON"),
			('{"text": "a"}', "agent or chat"),
			("[]", "agent or chat"),
			("", "no messages"),
		):
			result = self.eval(text)
			self.assertEqual(result.exit_code, 1)
			self.assertIn(reason, result.output)

	def eval(self, text: str, *options: str):
		with tempfile.TemporaryDirectory() as folder:
			file = Path(folder, "messages.jsonl")
			file.write_text(text, encoding="utf-8")
			return run("router", "eval", str(file), *options)


class TestFit(SiteTestCase):
	def test_fit_uses_site_decisions_and_refuses_fewer_than_30(self):
		too_few = self.fit()
		self.assertEqual(too_few.exit_code, 1)
		self.assertIn("30 are needed", too_few.output)
		self.insert_decisions()
		self.assertIn("40 decisions; ", self.fit().output)

	def fit(self):
		return isolated(run, "--home", str(self.home), "router", "fit")

	def insert_decisions(self):
		for number in range(40):
			needed = number % 2
			score = 0.6 if needed else 0.3
			values = {
				"route": "chat",
				"stage": "classifier",
				"confidence": 1 - score,
				"other_confidence": score,
			}
			name = insert_decision(f"message {number}", values)
			if needed:
				link_run(name, "a run", escalated=True)
		frappe.db.commit()
