"""Compares two states of a document, field by field and row by row. Checks no permission.

A change is a dict: {doctype, name, action, fields: [{fieldname, label, fieldtype, before, after}], rows:
[{fieldname, label, doctype, row, idx, action, fields}]}. The action of a document is create, update, submit,
cancel or delete, that of a row add, change or remove. None and "" are equal; in created and deleted documents
and rows, so is 0.
"""

from collections.abc import Mapping
from typing import Any

import frappe
from frappe import _

from huf.ai.core.secret_text import HIDDEN
from huf.ai.core.stored_text import digest
from huf.ai.tools.fields import SECRET_FIELDTYPE, is_secret
from huf.ai.tools.schemas import TABLE_TYPES

DOCSTATUS = {"fieldname": "docstatus", "label": "Document Status"}
OWNER = {"fieldname": "owner", "label": "Created By"}
POSITION = {"fieldname": "idx", "label": "No."}
CONTENT = {"fieldname": "content", "label": "Content", "fieldtype": "Text"}
"""A pseudo-field: File has no field for its text."""
MAX_FILE_BYTES = 20_000
"""Limit for the text of one file in a preview."""
DOCSTATUS_LABELS = {0: "Draft", 1: "Submitted", 2: "Cancelled"}
DOCSTATUS_ACTIONS = {(0, 1): "submit", (1, 2): "cancel"}


def translate_labels(difference: Mapping) -> dict:
	"""The difference as a reader sees it: DocTypes (as `label`), fields, choices and the document status in
	the language of the request. Fields that lists show, and amounts that can be typed, are marked as `main`.
	"""
	changes = [translate_change(each) for each in difference.get("changes") or ()]
	return {**difference, "changes": changes} if changes else dict(difference)


def translate_change(change: Mapping) -> dict:
	rows = [
		{**row, "label": _(row["label"]), "fields": translate_fields(row["doctype"], row["fields"])}
		for row in change.get("rows") or ()
	]
	return {
		**change,
		"label": _(change["doctype"]),
		"fields": translate_fields(change["doctype"], change["fields"]),
		"rows": rows,
	}


def translate_fields(doctype: str, fields: list[dict]) -> list[dict]:
	meta = frappe.get_meta(doctype) if frappe.db.exists("DocType", doctype) else None
	main = {df.fieldname for df in meta.fields if is_main(df)} if meta else ()
	return [
		{
			**field,
			"label": _(field["label"] or field["fieldname"]),
			**translate_field_values(field),
			**({"main": 1} if field["fieldname"] in main else {}),
		}
		for field in fields
	]


def is_main(df: Any) -> bool:
	return bool(df.in_list_view or df.bold or (df.fieldtype == "Currency" and not df.read_only))


def translate_field_values(field: Mapping) -> dict:
	is_choice = field["fieldname"] == DOCSTATUS["fieldname"] or field.get("fieldtype") == "Select"
	return {side: _(field[side]) for side in ("before", "after") if field[side]} if is_choice else {}


def read_document_state(doctype: str, name: str) -> dict | None:
	"""A stored document: {modified, docstatus, owner, fields, tables: {field: {row name: {idx, doctype,
	fields}}}}.

	None if there is no such document.
	"""
	meta = frappe.get_meta(doctype)
	if getattr(meta, "is_virtual", 0) or not frappe.db.exists(doctype, name):
		return None
	doc = frappe.get_doc(doctype, name)
	content = {CONTENT["fieldname"]: read_beginning(doc)} if doctype == "File" else {}
	return {
		"modified": str(doc.modified or ""),
		"docstatus": int(doc.docstatus or 0),
		"owner": doc.owner,
		"fields": read_values(doc, meta) | content,
		"tables": {
			df.fieldname: {
				str(row.name): {
					"idx": row.idx,
					"doctype": df.options,
					"fields": read_values(row, frappe.get_meta(df.options)),
				}
				for row in doc.get(df.fieldname) or ()
			}
			for df in meta.get_table_fields()
		},
	}


def read_values(doc, meta) -> dict[str, Any]:
	stored = set(meta.get_valid_columns())
	return {
		df.fieldname: read_secret(doc, df) if is_secret(df) else normalize_value(doc.get(df.fieldname), df)
		for df in meta.fields
		if df.fieldname in stored and df.fieldtype not in TABLE_TYPES
	}


def read_beginning(file) -> str | None:
	"""The beginning of a text file of this site; None for anything else."""
	try:
		with open(file.get_full_path(), "rb") as opened:
			start = opened.read(MAX_FILE_BYTES + 1)
		text = start[:MAX_FILE_BYTES].decode()
	except UnicodeDecodeError as error:
		if len(start) <= MAX_FILE_BYTES or error.start < MAX_FILE_BYTES - 4:
			return None
		text = start[: error.start].decode()  # a character is cut off
	except OSError:
		return None
	except frappe.ValidationError:  # it is a folder, or elsewhere
		frappe.clear_last_message()
		return None
	if "\0" in text:
		return None
	return f"{text}…" if len(start) > MAX_FILE_BYTES else text


class Secret(str):
	"""The digest of a stored secret, for comparison only; a change shows HIDDEN instead."""


def read_secret(doc, df) -> Secret | None:
	value = doc.get(df.fieldname)
	if not value:
		return None
	if df.fieldtype == SECRET_FIELDTYPE:
		try:
			value = doc.get_password(df.fieldname, raise_exception=False)
		except frappe.ValidationError:  # encrypted with another key
			frappe.clear_last_message()
			value = ""
	return Secret(digest(str(value)))


def normalize_value(value: Any, df) -> Any:
	"""The value as a JSON scalar; an empty text becomes None."""
	if value is None or value == "":
		return None
	if isinstance(value, bool | int | float):
		return value
	if df.fieldtype in ("Currency", "Float", "Percent"):
		return float(value)
	return str(value)


def compare_states(doctype: str, name: str, before: Mapping | None, after: Mapping | None) -> dict | None:
	"""The change from `before` to `after` (see `read_document_state`); None if they are equal."""
	if before is None and after is None:
		return None
	change: dict[str, Any] = {
		"doctype": doctype,
		"name": name,
		"action": find_action(before, after),
		"fields": compare_fields(doctype, (before or {}).get("fields"), (after or {}).get("fields")),
		"rows": compare_tables(
			doctype, (before or {}).get("tables") or {}, (after or {}).get("tables") or {}
		),
	}
	was, now = (before or {}).get("docstatus", 0), (after or {}).get("docstatus", 0)
	if was != now and after is not None:
		change["fields"].append(
			{**DOCSTATUS, "before": DOCSTATUS_LABELS[was], "after": DOCSTATUS_LABELS[now]}
		)
	if before and after and before["owner"] != after["owner"]:
		change["fields"].append({**OWNER, "before": before["owner"], "after": after["owner"]})
	is_change = change["fields"] or change["rows"] or change["action"] in ("create", "delete")
	return change if is_change else None


def find_action(before: Mapping | None, after: Mapping | None) -> str:
	if before is None:
		return "create"
	if after is None:
		return "delete"
	return DOCSTATUS_ACTIONS.get((before["docstatus"], after["docstatus"]), "update")


def compare_fields(doctype: str, before: Mapping | None, after: Mapping | None) -> list[dict]:
	meta, found = frappe.get_meta(doctype), []
	whole = before is not None and after is not None
	for fieldname in before or after or {}:
		was, now = (before or {}).get(fieldname), (after or {}).get(fieldname)
		if was != now and (whole or was or now):
			df = meta.get_field(fieldname)
			described = CONTENT
			if df:
				described = {"fieldname": fieldname, "label": df.label, "fieldtype": df.fieldtype}
			before_and_after = {"before": mask_secret(was), "after": mask_secret(now)}
			found.append({**described, **before_and_after})
	return found


def mask_secret(value: Any) -> Any:
	return HIDDEN if isinstance(value, Secret) else value


def compare_tables(doctype: str, before: Mapping, after: Mapping) -> list[dict]:
	return [
		row
		for fieldname in before or after
		for row in compare_rows(doctype, fieldname, before.get(fieldname) or {}, after.get(fieldname) or {})
	]


def compare_rows(doctype: str, fieldname: str, before: Mapping, after: Mapping) -> list[dict]:
	"""The changed rows of one table: existing rows in their order, then added ones."""
	label, found = frappe.get_meta(doctype).get_label(fieldname), []
	moved = find_moved_rows(before, after)
	for name in [*before, *(name for name in after if name not in before)]:
		was, now = before.get(name), after.get(name)
		known = now or was or {}
		fields = compare_fields(known["doctype"], was and was["fields"], now and now["fields"])
		if was and now and name in moved:
			fields.append({**POSITION, "before": was["idx"], "after": now["idx"]})
		action = "add" if was is None else "remove" if now is None else "change"
		if fields or action != "change":
			row = {"fieldname": fieldname, "label": label, "doctype": known["doctype"], "row": name}
			found.append({**row, "idx": known["idx"], "action": action, "fields": fields})
	return found


def find_moved_rows(before: Mapping, after: Mapping) -> set[str]:
	"""Names of rows whose order changed; a shifted position alone does not count."""
	stayed = [name for name in before if name in after]
	orders = (sorted(stayed, key=lambda name: rows[name]["idx"] or 0) for rows in (before, after))
	return {now for was, now in zip(*orders, strict=True) if was != now}
