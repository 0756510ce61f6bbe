"""Code run on connections of its own, as other requests and jobs have them."""

import threading
from concurrent.futures import ThreadPoolExecutor

import frappe


def elsewhere(function, *args):
	"""What `function` returns when another connection runs it, as Administrator, and commits."""
	return together([(function, *args)])[0]


def together(calls) -> list:
	"""The results of several calls, each on a thread and a connection of its own; all begin at once."""
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
