"""The tool type Get Report Result."""

import unittest
from unittest.mock import patch

from huf.ai.core.errors import ToolError
from huf.ai.tools import document_tools as tools


class TestPreparedReports(unittest.TestCase):
	def test_prepared_report_not_yet_generated_is_an_error_an_empty_one_is_not(self):
		prepared = {"prepared_report": True, "doc": None}
		with patch("frappe.desk.query_report.run", return_value=prepared):
			with self.assertRaisesRegex(ToolError, "made in advance"):
				tools.get_report_result("Agent Costs")
			prepared["doc"] = {"name": "made before"}
			self.assertEqual(tools.get_report_result("Agent Costs")["rows"], [])
