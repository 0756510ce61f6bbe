"""The life cycle of documents: comparison with the stored state, events, and follow-ups of a save."""

import datetime

import frappe
from frappe.utils.data import get_datetime, getdate

EVENTS_BEFORE = {
	"save": ("before_validate", "validate", "before_save"),
	"submit": ("before_validate", "validate", "before_submit"),
	"cancel": ("before_cancel",),
	"update_after_submit": ("before_update_after_submit",),
}
EVENTS_AFTER = {
	"save": ("on_update",),
	"submit": ("on_update", "on_submit"),
	"cancel": ("on_cancel",),
	"update_after_submit": ("on_update_after_submit",),
}


class Lifecycle:
	"""A mixin of Document. `_action`: the kind of save (save, submit, cancel or update_after_submit)."""

	# --- state ---

	def load_doc_before_save(self):
		"""Read the stored document under the write lock, so that it stays valid until the end of the
		transaction.
		"""
		self._doc_before_save = None
		if self.is_new():
			return
		try:
			self._doc_before_save = frappe.get_doc(self.doctype, self.name, for_update=True)
		except frappe.DoesNotExistError:
			frappe.clear_last_message()

	def get_doc_before_save(self):
		return self.__dict__.get("_doc_before_save")

	def get_latest(self):
		if not self.get_doc_before_save():
			self.load_doc_before_save()
		return self._doc_before_save

	def get_value_before_save(self, fieldname):
		before = self.get_doc_before_save()
		return before.get(fieldname) if before else None

	def has_value_changed(self, fieldname) -> bool:
		"""Whether the document is new or its stored value differs."""
		before = self.get_doc_before_save()
		if not before:
			return True
		old, new = before.get(fieldname), self.get(fieldname)
		if isinstance(old, datetime.datetime):
			new = get_datetime(new)
		elif isinstance(old, datetime.date):
			new = getdate(new)
		return old != new

	def check_save_permission(self, permtype: str):
		"""Check the stored document, then the changed one: a change must not grant its own permission."""
		if (before := self.get_doc_before_save()) and not self.flags.ignore_permissions:
			before.check_permission(permtype)
		self.check_permission(permtype)

	def check_if_latest(self):
		self._action = "save"
		before = self._doc_before_save
		if not before:
			if not self.is_new():
				self._not_found(self.name)
			self.check_docstatus_transition(0)
			return
		if not is_same_moment(before.modified, self._original_modified):
			message = frappe._(
				"Error: {0} ({1}) has been modified after you have opened it ({2}, {3})."
			).format(self.name, self.doctype, before.modified, self.modified)
			refresh = frappe._("Please refresh to get the latest document.")
			frappe.msgprint(f"{message} {refresh}", raise_exception=frappe.TimestampMismatchError)
		if not self.meta.issingle:
			self.check_docstatus_transition(before.docstatus)

	def check_docstatus_transition(self, stored: int):
		"""Draft to Draft or Submitted, Submitted to Submitted or Cancelled; sets `_action`."""
		new = self.docstatus
		if stored == 2:
			raise frappe.ValidationError(frappe._("Cannot edit cancelled document"))
		if new not in (0, 1, 2):
			raise frappe.ValidationError(frappe._("Invalid docstatus"), new)
		actions = {(0, 0): "save", (0, 1): "submit", (1, 1): "update_after_submit", (1, 2): "cancel"}
		action = actions.get((int(stored), int(new)))
		if action is None:
			names = ("Draft", "Submitted", "Cancelled")
			message = frappe._("Cannot change docstatus from {0} ({1}) to {2} ({3})")
			raise frappe.DocstatusTransitionError(
				message.format(int(stored), names[stored], int(new), names[new] if new in (0, 1, 2) else "?")
			)
		self._action = action
		if action != "save":
			self.check_save_permission("cancel" if action == "cancel" else "submit")

	# --- events ---

	def run_before_save_methods(self):
		for event in EVENTS_BEFORE[self._action]:
			if event == "before_validate" or not self.flags.ignore_validate:
				self.run_method(event)

	def run_post_save_methods(self):
		for event in EVENTS_AFTER[self._action]:
			self.run_method(event)
		if self._action == "cancel":
			self.check_no_back_links_exist()
		if not self.flags.in_insert:
			self.clear_cache()
		self.save_version()
		self.run_method("on_change")
		if (self.doctype, self.name) in frappe.flags.currently_saving:
			frappe.flags.currently_saving.remove((self.doctype, self.name))

	def run_method(self, method: str, *args, **kwargs):
		"""The controller's method, then doc_events of the DocType, then those of "*"."""
		function = self.find_method(method)
		handlers = frappe.apps.doc_event_handlers(self.doctype, method)
		result = function(*args, **kwargs) if function else None
		if handlers:
			database = frappe.local.db
			database._disable_transaction_control += 1
			try:
				for path in handlers:
					result = combined(result, frappe.apps.get_handler(path)(self, method, *args, **kwargs))
			finally:
				database._disable_transaction_control -= 1
		return result

	def find_method(self, name: str):
		"""The bound method of this name, even if a field has the same name."""
		if name in self.__dict__ and not callable(self.__dict__[name]):
			function = getattr(type(self), name, None)
			return function.__get__(self) if callable(function) else None
		method = getattr(self, name, None)
		return method if callable(method) else None

	def check_no_back_links_exist(self):
		from frappe.model.delete_doc import check_links

		if not self.flags.ignore_links:
			check_links(self, method="Cancel")

	def save_version(self):
		"""A Version row of what changed, if the DocType tracks changes."""
		before = self.get_doc_before_save()
		if (
			not self.meta.track_changes
			or self.flags.ignore_version
			or self.doctype == "Version"
			or not before
		):
			return
		version = frappe.new_doc("Version")
		if version.update_version_info(before, self):
			version.insert(ignore_permissions=True)

	def clear_cache(self):
		frappe.clear_document_cache(self.doctype, self.name)


def is_same_moment(stored, given) -> bool:
	try:
		return get_datetime(stored or "") == get_datetime(given or "")
	except (ValueError, OverflowError):
		return False  # what a request gave is no time


def combined(result, addition):
	"""Event handlers seldom return anything; dicts are merged, the last other value wins."""
	if addition is None:
		return result
	if isinstance(result, dict) and isinstance(addition, dict):
		return {**result, **addition}
	return addition
