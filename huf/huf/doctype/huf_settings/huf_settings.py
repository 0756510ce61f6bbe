import frappe
from frappe import _
from frappe.model.document import Document
from frappe.utils import flt

from huf.ai.core.field_values import check_field_values, throwing
from huf.ai.core.stored_secrets import require_secret_again
from huf.ai.core.timed_pattern import PatternError, compile_pattern
from huf.ai.providers.personal_patterns import read_patterns
from huf.ai.providers.personal_records import check_personal_fields
from huf.ai.tools.call_policy import check_allowed_hosts

MAX_HOURS, MAX_DAYS = 876_000, 36_500
"""A hundred years: what is added to today's date must stay one."""
MAX_TOKENS = 2**53
"""These limits have no column in the database. Larger numbers are not exact in a browser."""
MAXIMUMS = {
	"draft_expiry_hours": MAX_HOURS,
	"pass_on_hours": MAX_HOURS,
	"keep_contents_days": MAX_DAYS,
	"keep_runs_days": MAX_DAYS,
	"run_token_limit": MAX_TOKENS,
	"agent_daily_token_limit": MAX_TOKENS,
	"user_daily_token_limit": MAX_TOKENS,
	"site_monthly_token_limit": MAX_TOKENS,
}


class HufSettings(Document):
	def validate(self):
		check_field_values(self, MAXIMUMS)
		check_allowed_hosts(self)
		self.keep_triggers_changed()
		self.check_patterns()
		if self.search_provider:
			require_secret_again(self, "search_provider", "search_api_key")
		require_secret_again(self, "search_base_url", "search_api_key")
		self.check_threshold()
		self.check_route_patterns()

	def check_patterns(self):
		with throwing(ValueError):
			read_patterns(self.mask_patterns)
			check_personal_fields(self.personal_fields)

	def check_threshold(self):
		if not 0 <= flt(self.router_confidence_threshold) <= 1:
			frappe.throw(_("The agent confidence threshold must be between 0 and 1."))

	def check_route_patterns(self):
		for row in self.route_patterns:
			check_field_values(row)
			if not 0 <= flt(row.confidence) <= 1:
				frappe.throw(_("Row {0}: the confidence must be between 0 and 1.").format(row.idx))
			try:
				compile_pattern(row.pattern or "")
			except PatternError as error:
				frappe.throw(_("Row {0}: the pattern cannot be read: {1}.").format(row.idx, error))

	def keep_triggers_changed(self):
		"""Triggers write this time; a form that was opened earlier must not reset it."""
		if before := self.get_doc_before_save():
			self.triggers_changed = before.triggers_changed
