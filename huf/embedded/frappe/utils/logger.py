"""Loggers that write below the site's logs folder."""

import logging
from logging.handlers import RotatingFileHandler
from pathlib import Path

import frappe


def logger(
	module="frappe", with_more_info=False, allow_site=True, filter=None, max_size=100_000, file_count=20
):
	"""A standard logger; its file is logs/<module>.log of the site."""
	name = f"{module}-{frappe.local.site or 'all'}"
	log = logging.getLogger(name)
	if not log.handlers and getattr(frappe.local, "site_path", None):
		folder = Path(frappe.local.site_path, "logs")
		folder.mkdir(parents=True, exist_ok=True)
		handler = RotatingFileHandler(
			folder / f"{module}.log", maxBytes=max_size, backupCount=file_count, delay=True
		)
		handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s %(message)s"))
		log.addHandler(handler)
		log.propagate = False
		log.setLevel(logging.INFO)
	return log
