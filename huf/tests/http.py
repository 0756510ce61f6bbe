"""Real requests through the site's WSGI application, without a server. Runs on both homes."""

from concurrent.futures import ThreadPoolExecutor

import frappe
import frappe.app
from werkzeug.test import Client


def post(path: str, **options):
	"""POST as a stranger does, in a thread of its own, so that the test's own `frappe.local` stays; gives the
	response.
	"""
	return send(path, method="POST", **options)


def leave(path: str, **options) -> bytes:
	"""Read the first piece of a stream, and leave; gives the piece."""

	def request():
		response = Client(frappe.app.application).open(path, **options)
		piece = next(iter(response.response))
		response.close()
		return piece

	return apart(request)


def send(path: str, **options):
	def request():
		response = Client(frappe.app.application).open(path, **options)
		response.get_data()
		response.close()
		return response

	return apart(request)


def apart(request):
	"""Call in a thread, as a server does."""
	frappe.db.commit()
	frappe.app._site, frappe.app._sites_path = frappe.local.site, frappe.local.sites_path

	with ThreadPoolExecutor(1) as pool:
		result = pool.submit(request).result()
	frappe.db.rollback()
	return result
