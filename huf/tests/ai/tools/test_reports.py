"""The tool Run Report."""

import unittest
from unittest.mock import patch

from huf.ai.core.errors import ToolError
from huf.ai.tools import document_tools as tools


class TestPreparedReports(unittest.TestCase):
	def test_a_report_that_has_not_been_made_is_an_error_and_one_without_rows_is_none(self):
		prepared = {"prepared_report": True, "doc": None}
		with patch("frappe.desk.query_report.run", return_value=prepared):
			with self.assertRaisesRegex(ToolError, "made in advance"):
				tools.get_report_result("Agent Costs")
			prepared["doc"] = {"name": "made before"}
			self.assertEqual(tools.get_report_result("Agent Costs")["rows"], [])
