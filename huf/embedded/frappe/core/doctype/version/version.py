"""What a save changed, as JSON: changed, added, removed and row_changed."""

import frappe
from frappe.model import no_value_fields, table_fields
from frappe.model.document import Document


class Version(Document):
	def update_version_info(self, old, new) -> bool:
		"""Store the difference of two documents; False if there is none."""
		diff = get_diff(old, new) if old else None
		if not diff:
			return False
		self.ref_doctype, self.docname = new.doctype, new.name
		self.data = frappe.as_json(diff, indent=None, separators=(",", ":"))
		return True

	def get_data(self) -> dict:
		return frappe.parse_json(self.data)


def get_diff(old, new) -> dict | None:
	"""{changed: [[field, old, new]], added / removed: [[table, row]], row_changed: [[table, index, name,
	changed]]}
	"""
	diff = frappe._dict(changed=changed_fields(old, new), added=[], removed=[], row_changed=[])
	for fieldname in new._table_fieldnames:
		before = {row.name: row for row in old.get(fieldname)}
		for index, row in enumerate(new.get(fieldname)):
			if row.name not in before:
				diff.added.append([fieldname, row.as_dict()])
			elif changed := changed_fields(before.pop(row.name), row):
				diff.row_changed.append([fieldname, index, row.name, changed])
		names = {row.name for row in new.get(fieldname)}
		diff.removed += [[fieldname, row.as_dict()] for name, row in before.items() if name not in names]
	return diff if any(diff.values()) else None


def changed_fields(old, new) -> list:
	fields = [field for field in new.meta.fields if field.fieldtype not in (*no_value_fields, *table_fields)]
	old_row, new_row = old.get_valid_dict(), new.get_valid_dict()
	pairs = [
		(field.fieldname, old_row.get(field.fieldname), new_row.get(field.fieldname)) for field in fields
	]
	changed = [
		[name, before, after] for name, before, after in pairs if str(before or "") != str(after or "")
	]
	if old.docstatus != new.docstatus:
		changed.append(["docstatus", int(old.docstatus), int(new.docstatus)])
	return changed
