"""Knows which fields of which DocTypes are personal, and reads their values on this site.

Fields are declared by DEFAULTS, by the hook `huf_personal_data` = {DocType: [fieldnames]} of apps and packs,
and by Huf Settings (Personal Fields). `pincode+city` means both values together.
"""

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache

import frappe
from frappe.utils import getdate

from huf.ai.core.field_values import split_lines
from huf.ai.core.settings import get_settings
from huf.ai.providers.record_values import ADDRESS, NAME, RecordValues

DEFAULTS: Mapping[str, tuple[str, ...]] = {
	"User": ("first_name", "middle_name", "last_name", "full_name", "phone", "mobile_no", "birth_date"),
	"Contact": ("first_name", "middle_name", "last_name", "full_name", "phone", "mobile_no"),
	"Contact Phone": ("phone",),
	"Customer": ("customer_name", "tax_id", "mobile_no"),
	"Supplier": ("supplier_name", "tax_id", "mobile_no"),
	"Lead": ("first_name", "middle_name", "last_name", "lead_name", "company_name", "phone", "mobile_no"),
	"Employee": (
		*("first_name", "middle_name", "last_name", "employee_name", "date_of_birth", "cell_number"),
		*("current_address", "permanent_address", "passport_number", "bank_ac_no", "iban"),
		*("health_insurance_no", "person_to_be_contacted", "emergency_phone_number"),
	),
	"Patient": ("first_name", "middle_name", "last_name", "patient_name", "dob", "uid", "phone", "mobile"),
	"Address": ("address_title", "address_line1", "address_line2", "pincode+city", "phone", "fax"),
}
STANDARD_USERS = ("Administrator", "Guest")
MAX_RECORDS = 50_000
"""Limit per DocType; the most recently changed records are read."""
ORGANISATION = re.compile(
	r"\b(?:gmbh|mbh|ag|kg|kgaa|ohg|gbr|ug|e\.?\s?v|inc|ltd|llc|llp|plc|corp|co|s\.?l|s\.?a|s\.?r\.?o|a\.?s|se|z\.?s)\b\.?"
	r"|gericht|versicherung|stiftung|verein|kanzlei|behörde|amt\b|bank\b|company|group|court|insurance|university|hospital"
	r"|juzgado|seguros|soud\b|pojišťovna",
	re.IGNORECASE,
)
LEGAL_FORM = re.compile(
	r"[\s,]+(?:gmbh|mbh|ag|kg|kgaa|ohg|gbr|ug|e\.\s?v\.|inc\.?|ltd\.?|llc|llp|plc|corp\.?|s\.?l\.?|s\.?a\.?|s\.\s?r\.\s?o\.|a\.\s?s\.)"
	r"(?:\s*&\s*co\.?(?:\s*kg)?)?$",
	re.IGNORECASE,
)
ADDRESS_FIELD = re.compile(r"address_line|address$|anschrift|strasse|street|direccion|adresa|pincode")


def get_record_values() -> RecordValues:
	"""The site's values, rebuilt when one of the DocTypes or the declaration has changed."""
	fields = read_personal_fields()
	versions = tuple(
		(doctype, names, read_records_version(doctype)) for doctype, names in sorted(fields.items())
	)
	return build_values(frappe.local.site, versions)


def read_personal_fields() -> dict[str, tuple[str, ...]]:
	"""{DocType: fields}, limited to those that exist on this site."""
	declared: dict[str, list[str]] = {doctype: list(names) for doctype, names in DEFAULTS.items()}
	for source in (frappe.get_hooks("huf_personal_data") or {}, parse_fields(get_settings().personal_fields)):
		for doctype, names in source.items():
			declared.setdefault(doctype, []).extend(names)
	known = {doctype: keep_known(doctype, names) for doctype, names in declared.items()}
	return {doctype: names for doctype, names in known.items() if names}


def parse_fields(text: str) -> dict[str, list[str]]:
	"""Lines such as `Contact: first_name, last_name`. Raises ValueError that names the line."""
	fields: dict[str, list[str]] = {}
	for line in split_lines(text):
		doctype, colon, names = line.partition(":")
		if not (colon and doctype.strip() and names.strip(" ,")):
			raise ValueError(f"{line!r} is not DocType: field, field.")
		fields.setdefault(doctype.strip(), []).extend(filter(None, map(str.strip, names.split(","))))
	return fields


def check_personal_fields(text: str | None) -> None:
	"""Raises ValueError for a line that is invalid or names something this site does not have."""
	for doctype, names in parse_fields(text or "").items():
		known = keep_known(doctype, names)
		if unknown := [each for each in names if each not in known]:
			raise ValueError(f"{doctype}: {', '.join(unknown)} is not a field of a DocType of this site.")


def keep_known(doctype: str, names: Iterable[str]) -> tuple[str, ...]:
	if not frappe.db.exists("DocType", doctype):
		return ()
	meta = frappe.get_meta(doctype)
	return tuple(dict.fromkeys(n for n in names if all(map(meta.has_field, n.split("+")))))


def read_records_version(doctype: str) -> tuple[int, str]:
	"""(number of documents, time of the latest change): differs after any change."""
	latest = frappe.get_all(doctype, fields=["modified"], order_by="modified desc", limit=1)
	return frappe.db.count(doctype), str(latest[0].modified) if latest else ""


@lru_cache(maxsize=4)
def build_values(site: str, versions: tuple) -> RecordValues:
	"""The values for one state of the site's records. Cached."""
	values = RecordValues()
	for doctype, names, _ in versions:
		add_records(values, doctype, names)
	return values


def add_records(values: RecordValues, doctype: str, names: tuple[str, ...]) -> None:
	meta, type_field = frappe.get_meta(doctype), f"{doctype.lower()}_type"
	# A User's type (System User) does not make it an organisation.
	types = [type_field] if doctype != "User" and meta.has_field(type_field) else []
	columns = list(dict.fromkeys(part for each in names for part in each.split("+")))
	dates = {each for each in columns if meta.get_field(each).fieldtype == "Date"}
	rows = frappe.get_all(
		doctype,
		filters={"name": ["not in", STANDARD_USERS]},
		fields=columns + types,
		order_by="modified desc",
		limit=MAX_RECORDS,
	)
	for row in rows:
		is_person = not types or row[type_field] == "Individual"
		for name in names:
			value = " ".join(str(row[part]) for part in name.split("+") if row[part])
			if value and name in dates:
				day = getdate(value)
				values.add_date(day.year, day.month, day.day)
			elif value:
				add_value(values, name, value, is_person)


def add_value(values: RecordValues, fieldname: str, value: str, is_person: bool) -> None:
	"""Add a field's value as an address, a number, an organisation or a person."""
	if ADDRESS_FIELD.search(fieldname):
		lines = re.split(r"\n|<br>", value)
		for part in {*lines, *(part for line in lines for part in re.split("[,;]", line))}:
			if re.search(r"\d", part) and re.search(r"[^\W\d_]{3}", part):
				values.add_phrase(part.strip(), ADDRESS)
	elif sum(map(str.isdigit, value)) >= 3:
		values.add_number(value)
	elif is_person and not ORGANISATION.search(value):
		values.add_person(value)
	else:
		values.add_phrase(value, NAME)
		values.add_phrase(LEGAL_FORM.sub("", value), NAME)
