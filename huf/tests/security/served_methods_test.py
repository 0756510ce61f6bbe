"""The embedded runtime serves only listed functions of Frappe over HTTP."""

import frappe
from frappe.handler import SERVED

from huf.embedded.tests import samples
from huf.embedded.tests.sites import Browser, SiteTestCase, allow_tests


class TestServedMethods(SiteTestCase):
	NOT_SERVED = (
		"frappe.client.bulk_update",
		"frappe.client.get_password",
		"frappe.client.validate_link",
		"frappe.desk.query_report.run",
		"frappe.desk.search.search_widget",
		"frappe.share.add",
		"frappe.realtime.has_permission",
		"frappe.core.doctype.user.user.generate_keys",
		"frappe.utils.password.get_decrypted_password",
		"frappe.handler.upload_file",
		"frappe.no.such.thing",
		"huf.embedded.__main__.main",
	)

	def test_methods_outside_the_list_return_404(self):
		admin = self.admin()
		for method in self.NOT_SERVED:
			for path in (f"/api/method/{method}", f"/api/v1/method/{method}", f"/api/v2/method/{method}"):
				self.assertEqual(admin.open(path).status_code, 404, path)
				self.assertEqual(Browser().open(path).status_code, 404, path)
			self.assertEqual(admin.open(f"/?cmd={method}").status_code, 404, method)

	def test_module_paths_of_the_runtime_serve_no_methods(self):
		admin = self.admin()
		for method in ("share.add?doctype=User&name=Guest", "client.get_list?doctype=Note"):
			answer = admin.open(f"/api/method/huf.embedded.frappe.{method}")
			self.assertEqual(answer.status_code, 404)

	def test_modules_of_tests_are_neither_imported_nor_served_on_other_sites(self):
		admin, wait = self.admin(), "/api/method/huf.embedded.tests.samples.wait?seconds=0"
		self.assertEqual(admin.open(wait).status_code, 200)
		allow_tests(self.home, False)
		self.addCleanup(allow_tests, self.home)
		for path in (wait, "/api/method/huf.tests.no_such_module.x"):
			for browser in (admin, Browser()):
				self.assertEqual(browser.open(path).status_code, 404, path)
		frappe.init(frappe.local.site, sites_path=self.sites_path, force=True)
		frappe.connect()
		self.assertRaises(frappe.PermissionError, samples.wait, 0)

	def test_served_methods_are_whitelisted(self):
		for method in SERVED:
			self.assertIn(frappe.get_attr(method), frappe.whitelisted, method)

	def test_search_link_ignores_a_query_function_from_the_request(self):
		path = "/api/method/frappe.desk.search.search_link?doctype=User&txt=Admin"
		expected = self.admin().open(path).json["message"]
		query = "&query=huf.embedded.tests.samples.csrf_token"
		self.assertEqual(self.admin().open(path + query).json["message"], expected)

	def test_search_link_finds_doctypes_for_users_who_may_not_read_their_definitions(self):
		self.make_user("lead@example.com", "Huf Manager")
		manager = Browser()
		manager.login("lead@example.com")
		path = "/api/method/frappe.desk.search.search_link?txt=ToDo&doctype="
		self.assertIn("ToDo", [found["value"] for found in manager.open(path + "DocType").json["message"]])
		self.assertEqual(manager.open(path + "Error Log").status_code, 403)
		self.assertEqual(manager.open("/api/resource/DocType/ToDo").status_code, 403)
		self.assertEqual(Browser().open(path + "DocType").status_code, 403)
