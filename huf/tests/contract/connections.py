"""Runs functions on other database connections, like concurrent requests and jobs."""

import threading
from concurrent.futures import ThreadPoolExecutor

import frappe


def elsewhere(function, *args):
	"""Run `function` on another connection as Administrator, commit, and return its result."""
	return together([(function, *args)])[0]


def together(calls) -> list:
	"""Run all calls at once, each on its own thread and connection, and return their results."""
	site, sites_path = frappe.local.site, frappe.local.sites_path
	barrier = threading.Barrier(len(calls))

	def run(function, *args):
		frappe.init(site, sites_path=sites_path, force=True)
		frappe.connect()
		for hook in frappe.get_hooks("before_job", app_name="huf"):
			frappe.get_attr(hook)(method="huf.tests")
		barrier.wait()
		try:
			result = function(*args)
			frappe.db.commit()
			return result
		finally:
			frappe.destroy()

	with ThreadPoolExecutor(len(calls)) as pool:
		return [future.result() for future in [pool.submit(run, *call) for call in calls]]
