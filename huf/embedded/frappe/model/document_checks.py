"""Validation and conversion of documents before insert and save. Writes no rows except secrets."""

import re

import frappe
from frappe.database.schema import COLUMN_TYPES, INTEGER, TEXT_BYTES, get_limit, is_too_long
from frappe.model import display_fieldtypes, table_fields
from frappe.model.docstatus import DocStatus
from frappe.utils.data import cint, cstr, flt, strip_html
from frappe.utils.html_utils import sanitize_html

MAX_INT = 2**31 - 1
PHONE = re.compile(r"[0-9 +_\-,.*#()]{1,20}")
PERSON = re.compile(r"\w[\w'\-]*( \w[\w'\-]*)*")
NEVER_SANITISED = {"Attach", "Attach Image", "Barcode", "Code", "JSON"}


class Checks:
	"""Mixed into Document; `_document_checks` runs on the document and on each child row."""

	def _validate(self):
		self._validate_mandatory()
		rows = [self, *self.get_all_children()]
		for row in rows:
			for check in row_checks:
				check(row)
		if not self.is_new():
			self.validate_set_only_once()

	def _validate_mandatory(self):
		if self.flags.ignore_mandatory:
			return
		missing = [entry for row in (self, *self.get_all_children()) for entry in missing_fields(row)]
		if not missing:
			return
		for _fieldname, message in missing:
			frappe.msgprint(message)
		fields = ", ".join(fieldname for fieldname, _message in missing)
		raise frappe.MandatoryError(f"[{self.doctype}, {self.name}]: {fields}")

	# --- links ---

	def _validate_links(self):
		if self.flags.ignore_links or self._action == "cancel":
			return
		invalid, cancelled = [], []
		for row in (self, *self.get_all_children()):
			for field, doctype in links_of(row):
				found = self._check_link(row, field, doctype)
				if not found:
					invalid.append(link_message(row, field))
				elif self._is_cancelled_link(field, doctype, found):
					cancelled.append(link_message(row, field))
		if invalid:
			frappe.throw(
				frappe._("Could not find {0}").format(", ".join(invalid)), frappe.LinkValidationError
			)
		if cancelled:
			message = frappe._("Cannot link cancelled document: {0}").format(", ".join(cancelled))
			frappe.throw(message, frappe.CancelledLinkError)

	def _check_link(self, row, field, doctype: str):
		"""The linked row, with the fields that are fetched from it; None if it does not exist."""
		name, meta = row.get(field.fieldname), frappe.get_meta(doctype)
		if meta.issingle:
			return {"name": doctype}
		fetched = [
			target
			for target in row.meta.get_fields_to_fetch(field.fieldname)
			if not target.fetch_if_empty or not row.get(target.fieldname)
		]
		sources = {target.fetch_from.split(".")[-1] for target in fetched}
		wanted = ["name", *sources, *(["docstatus"] if meta.is_submittable else [])]
		found = frappe.db.get_value(doctype, name, wanted, as_dict=True)
		if not found:
			return None
		row.set(field.fieldname, found.name)
		for target in fetched:
			if row.is_new() or not self.docstatus.is_submitted() or target.allow_on_submit:
				row.set(target.fieldname, found[target.fetch_from.split(".")[-1]])
		return found

	def _is_cancelled_link(self, field, doctype: str, found) -> bool:
		is_checked = field.fieldname != "amended_from" and self.meta.is_submittable
		return bool(is_checked and found.get("docstatus") == DocStatus.cancelled())

	# --- against what is stored ---

	def check_child_names(self):
		"""A child row keeps its name in this table; the name of another table's row is refused."""
		before = self.get_doc_before_save()
		stored = {(row.parentfield, row.name) for row in before.get_all_children()}
		for row in self.get_all_children():
			is_known = row.is_new() or (row.parentfield, row.name) in stored
			if not is_known and frappe.db.exists(row.doctype, row.name):
				message = frappe._("{0} {1} does not belong to {2}")
				frappe.throw(message.format(row.doctype, row.name, self.name), frappe.PermissionError)

	def validate_set_only_once(self):
		before = self.get_doc_before_save()
		for field in self.meta.get_set_only_once_fields() if before else ():
			old, new = before.get(field.fieldname), self.get(field.fieldname)
			if field.fieldtype in table_fields:
				is_same = comparable_rows(old) == comparable_rows(new)
			elif field.fieldtype in ("Date", "Datetime", "Time"):
				is_same = str(old) == str(new)
			else:
				is_same = old == new
			if not is_same:
				message = frappe._("Value cannot be changed for {0}").format(frappe.bold(field.label))
				frappe.throw(message, frappe.CannotChangeConstantError)

	def validate_update_after_submit(self):
		if self.flags.ignore_validate_update_after_submit:
			return
		before = self.get_doc_before_save()
		old_rows = {row.name: row for row in before.get_all_children()}
		refuse_changes(self, before)
		for row in self.get_all_children():
			if not row.is_new() and row.name in old_rows:
				refuse_changes(row, old_rows[row.name])

	def validate_higher_perm_levels(self):
		"""Fields above the user's permission level keep their stored or default value."""
		if self.flags.ignore_permissions or frappe.flags.in_install or frappe.session.user == "Administrator":
			return
		rows = [self] if self.is_new() else [self, *self.get_all_children()]
		levels = None
		for row in rows:
			high = [
				field
				for field in row.meta.get_high_permlevel_fields()
				if field.fieldtype not in display_fieldtypes
			]
			if not high:
				continue
			levels = self.get_permlevel_access("write") if levels is None else levels
			self._reset_fields(row, [field for field in high if field.permlevel not in levels])

	def _reset_fields(self, row, fields):
		if not fields:
			return
		if row.is_new():
			source = frappe.new_doc(row.doctype)
		elif row is self:
			source = self.get_latest()
		else:
			rows = self.get_latest().get_all_children()
			source = next((old for old in rows if old.name == row.name), None)
		for field in fields if source else ():
			row.set(field.fieldname, source.get(field.fieldname))


def missing_fields(row) -> list[tuple[str, str]]:
	"""(fieldname, message) of each empty mandatory field."""
	missing = []
	for field in row.meta.fields:
		if field.reqd and not has_content(row, field):
			missing.append((field.fieldname, missing_message(row, field)))
	if row.meta.istable:
		for fieldname in ("parent", "parenttype"):
			if not row.get(fieldname):
				missing.append(
					(fieldname, frappe._("Error: Value missing for {0}: {1}").format(row.doctype, fieldname))
				)
	return missing


def has_content(row, field) -> bool:
	value = row.get(field.fieldname)
	if value is None or value == []:
		return False
	text = cstr(value)
	is_html = field.fieldtype == "Text Editor" or (field.fieldtype == "Code" and field.options == "HTML")
	return bool(strip_html(text).strip() or (is_html and "<img" in text))


def missing_message(row, field) -> str:
	label = frappe._(field.label)
	if field.fieldtype in table_fields:
		return frappe._("Error: Data missing in table {0}").format(label)
	if row.get("parentfield"):
		doctype = frappe.bold(frappe._(row.doctype))
		return frappe._("Error: {0} Row #{1}: Value missing for: {2}").format(doctype, row.idx, label)
	return frappe._("Error: Value missing for {0}: {1}").format(frappe._(row.doctype), label)


def links_of(row):
	"""(field, DocType) of each link with a value."""
	for field in row.meta.fields:
		if field.fieldtype not in ("Link", "Dynamic Link") or not row.get(field.fieldname):
			continue
		doctype = field.options if field.fieldtype == "Link" else row.get(field.options)
		if not doctype:
			label = field.fieldname if field.fieldtype == "Link" else row.meta.get_label(field.options)
			frappe.throw(frappe._("{0} must be set first").format(label))
		if not isinstance(doctype, str) or not isinstance(row.get(field.fieldname), str | int):
			# Filters would find documents by fields that the user may not read.
			frappe.throw(frappe._("{0} must be text").format(frappe.bold(field.fieldname)))
		yield field, doctype


def link_message(row, field) -> str:
	label, value = frappe._(field.label), row.get(field.fieldname)
	return (
		f"{frappe._('Row')} #{row.idx}: {label}: {value}" if row.get("parentfield") else f"{label}: {value}"
	)


# --- checks of one row ---


def validate_data_fields(row):
	from frappe.utils import split_emails, validate_email_address, validate_url

	for field in row.meta.get_data_fields():
		value = row.get(field.fieldname)
		if not value or not field.options:
			continue
		is_standard_user = row.owner in frappe.STANDARD_USERS and value in frappe.STANDARD_USERS
		if field.options == "Email" and not is_standard_user:
			for address in split_emails(value):
				validate_email_address(address, throw=True)
		elif field.options == "URL":
			validate_url(value, throw=True)
		elif field.options == "Phone" and not PHONE.fullmatch(cstr(value).strip()):
			message = frappe._("{0} is not a valid Phone Number")
			frappe.throw(message.format(value), frappe.InvalidPhoneNumberError)
		elif field.options == "Name" and not PERSON.fullmatch(cstr(value).strip()):
			frappe.throw(frappe._("{0} is not a valid Name").format(value), frappe.InvalidNameError)


def validate_phones(row):
	for field in row.meta.of_types("Phone"):
		value = row.get(field.fieldname)
		if value and not is_phone_number(cstr(value)):
			message = frappe._("Phone Number {0} set in field {1} is not valid.")
			frappe.throw(message.format(value, field.fieldname), frappe.InvalidPhoneNumberError)


def is_phone_number(text: str) -> bool:
	"""Whether it is a valid number of the country with whose code it begins."""
	from phonenumbers import NumberParseException, is_valid_number, parse

	try:
		return is_valid_number(parse(text))
	except NumberParseException:
		return False


def validate_selects(row):
	for field in row.meta.get_select_fields():
		value = row.get(field.fieldname)
		if field.fieldname == "naming_series" or not value or not field.options:
			continue
		options = field.options.split("\n")
		value = cstr(value).strip()
		row.set(field.fieldname, value)
		if value not in options and any(options):
			prefix = frappe._("Row #{0}:").format(row.idx) if row.get("parentfield") else ""
			message = frappe._('{0} {1} cannot be "{2}". It should be one of "{3}"')
			frappe.throw(
				message.format(prefix, frappe._(field.label), value, '", "'.join(map(frappe._, options)))
			)


def validate_non_negative(row):
	for field in row.meta.fields:
		if field.non_negative and flt(row.get(field.fieldname)) < 0:
			label = frappe.bold(frappe._(field.label))
			if row.get("parentfield"):
				message = f"{frappe.bold(frappe._(row.doctype))} {frappe._('Row')} #{row.idx}: "
				message += f"{frappe._('Value cannot be negative for')} {label}"
			else:
				message = frappe._("Value cannot be negative for {0}: {1}").format(
					frappe._(row.doctype), label
				)
			frappe.throw(message, frappe.NonNegativeError, title=frappe._("Negative Value"))


def validate_length(row):
	if row.meta.issingle:
		return
	for field in row.meta.fields:
		value = row.get(field.fieldname)
		if value is None:
			continue
		if limit := get_limit(field, field.fieldname):
			is_refused = is_too_long(cstr(value), limit)
		elif COLUMN_TYPES.get(field.fieldtype) == INTEGER:
			limit = MAX_INT
			is_refused = cint(field.length) <= 11 and abs(cint(value)) > limit
		else:
			continue
		if is_refused:
			refuse_length(row, field, limit, "…" if limit == TEXT_BYTES else value)


def refuse_length(row, field, limit, value):
	if row.get("parentfield"):
		where = frappe._("{0}, Row {1}").format(frappe._(row.doctype), row.idx)
	else:
		where = f"{frappe._(row.doctype)} {row.name}"
	message = frappe._("{0}: '{1}' ({3}) will get truncated, as max characters allowed is {2}")
	message = message.format(where, frappe.bold(frappe._(field.label)), limit, value)
	frappe.throw(message, frappe.CharacterLengthExceededError, title=frappe._("Value too big"))


def limit_ratings(row):
	for field in row.meta.of_types("Rating"):
		row.set(field.fieldname, max(0.0, min(flt(row.get(field.fieldname)), 1.0)))


def sync_autoname_field(row):
	_empty, is_by_field, fieldname = (row.meta.autoname or "").partition("field:")
	if is_by_field and row.name and row.name != row.get(fieldname):
		row.set(fieldname, row.name)


def sanitize_content(row):
	"""Sanitize HTML, except in code and file fields and those that opt out."""
	for fieldname in row.meta.valid_columns:
		value = row.get(fieldname)
		if not isinstance(value, str) or ("<" not in value and ">" not in value):
			continue
		field = row.meta.get_field(fieldname)
		if field and is_left_as_is(row, field):
			continue
		row.set(fieldname, sanitize_html(value, linkify=bool(field and field.fieldtype == "Text Editor")))


def is_left_as_is(row, field) -> bool:
	return bool(
		field.ignore_xss_filter
		or field.fieldtype in NEVER_SANITISED
		or (field.options == "Email" and field.fieldtype in ("Data", "Small Text", "Text"))
		or row.docstatus.is_cancelled()
		or (row.docstatus.is_submitted() and not field.allow_on_submit)
	)


def save_passwords(row):
	"""Store secrets in a separate table; the row keeps asterisks."""
	ignored = row.flags.ignore_save_passwords
	if ignored is True:
		return
	for field in row.meta.of_types("Password"):
		if field.fieldname in (ignored or ()):
			continue
		from frappe.utils.password import remove_encrypted_password, set_encrypted_password

		secret = cstr(row.get(field.fieldname))
		if not secret:
			if not row.is_new():
				remove_encrypted_password(row.doctype, row.name, field.fieldname)
		elif not row.is_dummy_password(secret):
			set_encrypted_password(row.doctype, row.name, secret, field.fieldname)
			row.set(field.fieldname, "*" * len(secret))


row_checks = (
	validate_data_fields,
	validate_phones,
	validate_selects,
	validate_non_negative,
	validate_length,
	limit_ratings,
	sync_autoname_field,
	sanitize_content,
	save_passwords,
)


# --- comparisons ---


def comparable_rows(rows) -> list[dict]:
	left_out = ("modified", "modified_by", "creation")
	dicts = [row.as_dict(convert_dates_to_str=True) for row in rows or ()]
	return [{key: value for key, value in row.items() if key not in left_out} for row in dicts]


def refuse_changes(row, before):
	"""Raises UpdateAfterSubmitError if a field changed that must not change after submission."""
	for field in row.meta.fields:
		if field.allow_on_submit or field.fieldtype in display_fieldtypes:
			continue
		old, new = before.get(field.fieldname), row.get(field.fieldname)
		if field.fieldtype in table_fields:
			old, new = len(old or ()), len(new or ())
		if (old or new) and cstr(old) != cstr(new):
			message = frappe._("{0} Not allowed to change {1} after submission from {2} to {3}").format(
				f"Row #{row.idx}:" if row.get("parent") else "",
				frappe.bold(frappe._(field.label)),
				frappe.bold(old),
				frappe.bold(new),
			)
			frappe.throw(message, frappe.UpdateAfterSubmitError, title=frappe._("Cannot Update After Submit"))
