"""Real requests through the site's WSGI application, without a server. Runs on both runtimes."""

from concurrent.futures import ThreadPoolExecutor

import frappe
import frappe.app
from werkzeug.test import Client


def post(path: str, **options):
	"""POST as an anonymous client in a separate thread, which keeps the test's `frappe.local`."""
	return send(path, method="POST", **options)


def leave(path: str, **options) -> bytes:
	"""Read the first chunk of a stream, then disconnect; returns the chunk."""

	def request():
		response = Client(frappe.app.application).open(path, **options)
		chunk = next(iter(response.response))
		response.close()
		return chunk

	return run_in_thread(request)


def send(path: str, **options):
	def request():
		response = Client(frappe.app.application).open(path, **options)
		response.get_data()
		response.close()
		return response

	return run_in_thread(request)


def run_in_thread(request):
	"""Call `request` in a thread, as a server does."""
	frappe.db.commit()
	frappe.app._site, frappe.app._sites_path = frappe.local.site, frappe.local.sites_path

	with ThreadPoolExecutor(1) as pool:
		result = pool.submit(request).result()
	frappe.db.rollback()
	return result
