"""The site's SQLite database, as `frappe.db`."""

from pathlib import Path


def get_db(path: str | Path):
	"""Open a connection; it belongs to one request, job or script."""
	from frappe.database.database import Database

	return Database(path)
