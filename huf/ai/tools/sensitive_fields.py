"""Knows the DocTypes, fields and keys that determine recipients, permissions and amounts."""

import re

import frappe

PROTECTED_MODULES = frozenset(
	"Automation Core Custom Email Huf Integrations Printing Social Website Workflow".split()
)
PROTECTED_DOCTYPES = frozenset(
	["Bulk Update", "Custom HTML Block", "Notification Settings", "System Console"]
)
"""DocTypes for access control, messages and pages for people, and automation."""
SENSITIVE_OPTIONS = frozenset(
	["User", "Role", "Email", "Phone", "URL", "IBAN", "Bank Account", "Workflow State"]
)
"""Link targets and formats of fields that determine recipients or permissions."""
SENSITIVE_NAME = re.compile(r"(.+_)?(recipient|iban|bank_account|account_n(o|umber)|url)(s|_ids?)?")
MAIL_NAME = re.compile(r"(.+_)?e_?mail(s|_ids?)?")
"""Fields of the same kinds whose DocType does not say so. The mail address of a new record, such as that of a
lead, is only what the sender says; a changed one redirects what others get.
"""
SENSITIVE_KEY = re.compile(r"(.+_)?(to|cc|bcc|payee|bic|amount|role|user|password|link)s?")
WORD_BOUNDARY = re.compile(r"(?<=[a-z])(?=[A-Z])")
PUBLIC_CHOICE = re.compile(r"public|published|everyone|shared", re.IGNORECASE)
PUBLISHING = re.compile(r"(is_)?(public|published|publish|shared|everyone)|publish_\w+|show_(in|on)_\w+")


def is_protected(doctype: str) -> bool:
	"""Whether a DocType belongs to Frappe or Huf and holds more than a person's notes and contacts."""
	meta = frappe.get_meta(doctype)
	return doctype in PROTECTED_DOCTYPES or (meta.module in PROTECTED_MODULES and not meta.custom)


def is_sensitive_name(name: str) -> bool:
	"""Whether a key in a call's data, such as payeeIban, determines a recipient or an amount."""
	words = WORD_BOUNDARY.sub("_", name).lower().replace("-", "_")
	return any(each.fullmatch(words) for each in (SENSITIVE_NAME, MAIL_NAME, SENSITIVE_KEY))


def list_sensitive_fields(doctype: str, is_new: bool) -> frozenset[str]:
	"""Fields, also of child tables, that determine recipients, permissions or visibility."""
	meta = frappe.get_meta(doctype)
	metas = [meta, *(frappe.get_meta(df.options) for df in meta.get_table_fields())]
	return frozenset(df.fieldname for each in metas for df in each.fields if is_sensitive_field(df, is_new))


def is_sensitive_field(df, is_new: bool) -> bool:
	if df.fieldtype == "Check":
		return bool(PUBLISHING.fullmatch(df.fieldname))
	if df.fieldtype == "Select" and any(map(PUBLIC_CHOICE.fullmatch, (df.options or "").splitlines())):
		return True
	is_named_so = SENSITIVE_NAME.fullmatch(df.fieldname) or (not is_new and MAIL_NAME.fullmatch(df.fieldname))
	return bool(is_named_so) or df.fieldtype == "Password" or (df.options or "") in SENSITIVE_OPTIONS
