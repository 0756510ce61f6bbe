import re

import frappe
from frappe import _
from frappe.model.document import Document
from frappe.utils import cint, cstr, get_datetime, now_datetime

from huf.ai.core.field_values import check_field_values, throwing
from huf.ai.storage import trigger_events
from huf.ai.storage.untrusted_records import mark_trigger_runs
from huf.ai.triggers import conditions
from huf.ai.triggers.condition_fields import check_condition_fields
from huf.ai.triggers.dispatch import EXPLICIT_RUN_AS_USERS, is_system_manager
from huf.ai.triggers.doc_events import UNWATCHED
from huf.ai.triggers.due_times import Plan, check_cron
from huf.ai.triggers.prompts import validate_prompt
from huf.ai.triggers.schedules import build_plan

SLUG = re.compile(r"[a-z0-9][a-z0-9-]{2,79}")
MIN_SECRET_CHARS = 16
OWN_FIELDS = {
	"Doc Event": ("reference_doctype", "doc_event"),
	"Schedule": ("cron", "scheduled_interval", "starts_on", "next_execution"),
	"Webhook": ("webhook_slug", "signature_header", "conversation_key"),
	"App Event": ("event_name",),
	"Manual": (),
}
TEXT_FIELDS = ("condition", "prompt", "conversation_key")
PLAN_FIELDS = ("cron", "scheduled_interval", "interval_count", "starts_on")
NEEDS_RUN_AS = ("Schedule", "Webhook")
HARMLESS_FIELDS = ("disabled", "notify_user", "notify_on", "notify_by_mail")
"""Fields that do not decide what a trigger does as its user."""
STATE_FIELDS = ("last_execution", "next_execution", "last_error")
SUBMITTED_ONLY = ("on_submit", "on_update_after_submit", "on_cancel")


class AgentTrigger(Document):
	def validate(self):
		self.keep_state()
		self.clear_other_types()
		check_field_values(self)
		self.check_needs()
		self.check_doctype()
		self.check_plan()
		self.check_webhook()
		self.check_texts()
		self.check_run_as()
		self.check_change()
		self.keep_author()
		self.set_next_execution()

	def on_update(self):
		before = self.get_doc_before_save()
		if before and before.is_from_outside() and not self.is_from_outside():
			mark_trigger_runs(self.name)

	def on_trash(self):
		if self.is_from_outside():
			mark_trigger_runs(self.name)
		trigger_events.delete_events_of(self.name)

	def is_from_outside(self) -> bool:
		return bool(self.untrusted) or self.trigger_type == "Webhook"

	def keep_state(self):
		"""Keep times that a worker wrote after this form was opened; a save clears the last error."""
		if before := self.get_doc_before_save():
			self.last_execution, self.next_execution = before.last_execution, before.next_execution
		self.last_error = None

	def clear_other_types(self):
		for fieldname in [
			name for kind, names in OWN_FIELDS.items() if kind != self.trigger_type for name in names
		]:
			self.set(fieldname, None)

	def check_needs(self):
		needed = {"Doc Event": ("reference_doctype", "doc_event"), "App Event": ("event_name",)}
		for fieldname in needed.get(self.trigger_type, ()):
			if not self.get(fieldname):
				label = _(self.meta.get_label(fieldname))
				frappe.throw(_("A trigger of type {0} needs {1}.").format(_(self.trigger_type), label))

	def check_doctype(self):
		if self.trigger_type != "Doc Event":
			return
		meta = frappe.get_meta(self.reference_doctype)
		if meta.istable:
			frappe.throw(_("{0} is a child table. Choose its parent DocType.").format(self.reference_doctype))
		if self.reference_doctype in UNWATCHED and not self.disabled:
			frappe.throw(
				_("{0} cannot have triggers, because the system writes it while it works.").format(meta.name)
			)
		if self.doc_event in SUBMITTED_ONLY and not meta.is_submittable:
			frappe.throw(
				_("{0} is not submittable, so {1} never happens. Choose another event.").format(
					meta.name, self.doc_event
				)
			)

	def check_plan(self):
		if self.trigger_type != "Schedule":
			return
		if not self.cron and not self.scheduled_interval:
			frappe.throw(_("A schedule needs a cron expression or an interval."))
		if self.cron:
			self.cron = " ".join(cstr(self.cron).split())
			self.scheduled_interval = self.starts_on = None
			if wrong := check_cron(self.cron):
				frappe.throw(_("{0} is not a cron expression. {1}").format(self.cron, wrong))
			return
		self.interval_count = cint(self.interval_count) or 1
		moment = get_datetime(self.starts_on) if self.starts_on else now_datetime().replace(microsecond=0)
		try:
			second = Plan(None, self.scheduled_interval, self.interval_count, moment).due(1)
		except (ValueError, OverflowError):
			frappe.throw(
				_("{0} intervals are too many: the next time would be after the year 9999.").format(
					self.interval_count
				)
			)
		self.starts_on = moment if self.starts_on else second

	def check_webhook(self):
		if self.trigger_type != "Webhook":
			return
		self.webhook_slug = self.webhook_slug or re.sub(r"[^a-z0-9]+", "-", self.trigger_name.lower()).strip(
			"-"
		)
		if not SLUG.fullmatch(cstr(self.webhook_slug)):
			frappe.throw(_("A slug has at least three characters: lowercase letters, digits and -."))
		other = frappe.db.get_value(
			"Agent Trigger", {"webhook_slug": self.webhook_slug, "name": ["!=", self.name]}
		)
		if other:
			frappe.throw(
				_("The trigger {1} already has the slug {0}. Choose another.").format(
					self.webhook_slug, other
				)
			)
		secret = self.webhook_secret or ""
		if not secret and not self.disabled:
			frappe.throw(_("Enter or generate a webhook secret. Without one, every delivery is refused."))
		if len(secret) < MIN_SECRET_CHARS and secret.strip("*"):
			frappe.throw(_("The secret needs at least {0} characters.").format(MIN_SECRET_CHARS))

	def check_texts(self):
		for fieldname in TEXT_FIELDS:
			if self.get(fieldname) is not None:
				self.set(fieldname, cstr(self.get(fieldname)))
		with throwing():
			conditions.validate_condition(self.condition)
			if self.trigger_type == "Doc Event":
				check_condition_fields(self.condition, frappe.get_meta(self.reference_doctype))
			validate_prompt(self.prompt)
			validate_prompt(self.conversation_key)

	def lacks_user(self) -> bool:
		"""Whether it would act for Administrator, without anybody having chosen that."""
		if self.run_as:
			return False
		return self.trigger_type in NEEDS_RUN_AS or bool(self.doc_event and not has_other_users())

	def acts_as_anybody(self) -> bool:
		"""Whether it acts as the user who causes its event, who need not know of it."""
		return not self.run_as and self.trigger_type in ("Doc Event", "App Event")

	def check_run_as(self):
		"""Only a System Manager may choose another user, and Administrator must be named explicitly.

		A trigger of a pack has no user until somebody turns it on.
		"""
		user = frappe.session.user
		if self.trigger_type in NEEDS_RUN_AS and not self.run_as and user not in EXPLICIT_RUN_AS_USERS:
			self.run_as = user
		if self.lacks_user() and not self.disabled:
			text = _("Choose Run As. Administrator is the only user here, and starts no agent unless chosen.")
			if self.trigger_type in NEEDS_RUN_AS:
				text = _("Choose Run As. An agent gets the permissions of {0} only if you select that user.")
			frappe.throw(text.format(user))
		if not self.run_as or not self.has_value_changed("run_as"):
			return
		if self.run_as == "Guest" or not frappe.db.get_value("User", self.run_as, "enabled"):
			frappe.throw(_("An agent cannot act as {0}, who is not an enabled user.").format(self.run_as))
		if self.run_as != user and not is_system_manager(user):
			frappe.throw(
				_("Only a System Manager may choose another user. Leave Run As blank, or choose yourself."),
				frappe.PermissionError,
			)

	def check_change(self):
		"""Only a System Manager may change what a trigger does that acts as one."""
		user = frappe.session.user
		if not self.run_as or self.run_as == user or is_system_manager(user):
			return
		if is_system_manager(self.run_as) and self.does_something_else():
			text = _("Only a System Manager may change a trigger that acts as {0}. You may turn it off.")
			frappe.throw(text.format(self.run_as), frappe.PermissionError)

	def keep_author(self):
		"""The user who saved last lends a trigger their rights; one who only turns it on or off does not."""
		is_changed = any(map(self.has_value_changed, HARMLESS_FIELDS))
		if is_changed and not self.does_something_else():
			self.modified_by = self.get_doc_before_save().modified_by

	def does_something_else(self) -> bool:
		before = self.get_doc_before_save()
		names = (
			df.fieldname for df in self.meta.fields if df.fieldname not in HARMLESS_FIELDS + STATE_FIELDS
		)
		return not before or any(cstr(before.get(name)) != cstr(self.get(name)) for name in names)

	def set_next_execution(self):
		"""Count from now if the schedule is new, changed or enabled again; otherwise keep the next time."""
		if self.trigger_type != "Schedule" or self.disabled:
			self.next_execution = None
			return
		before = self.get_doc_before_save()
		is_known = before and before.next_execution and not before.disabled
		if is_known and not any(map(self.has_value_changed, PLAN_FIELDS)):
			return
		self.next_execution = build_plan(self).next_due(now_datetime())


def has_other_users() -> bool:
	"""Whether somebody besides Administrator can save documents."""
	filters = {"enabled": 1, "name": ["not in", ("Administrator", "Guest")]}
	return bool(frappe.db.exists("User", filters))
