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


def send(path: str, **options):
	frappe.db.commit()
	frappe.app._site, frappe.app._sites_path = frappe.local.site, frappe.local.sites_path

	def request():
		response = Client(frappe.app.application).open(path, **options)
		response.get_data()
		response.close()
		return response

	with ThreadPoolExecutor(1) as pool:
		response = pool.submit(request).result()
	frappe.db.rollback()
	return response
