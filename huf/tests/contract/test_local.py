"""`frappe.local` can be copied, replaced and opened per thread; site paths, URLs and the encryption key."""

from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from pathlib import Path
from unittest.mock import patch
from zoneinfo import ZoneInfo

import frappe
from frappe.utils import get_datetime, get_system_timezone, get_url, nowdate
from frappe.utils.password import get_encryption_key

from huf.tests.base import SiteTestCase


class TestLocal(SiteTestCase):
	def test_session_and_flags_can_be_replaced_by_copies(self):
		session, flags = frappe.local.session, frappe.local.flags
		self.addCleanup(setattr, frappe.local, "session", session)
		self.addCleanup(setattr, frappe.local, "flags", flags)
		frappe.local.session, frappe.local.flags = session.copy(), flags.copy()
		session.user, flags.huf_test_flag = "Guest", True
		self.assertEqual((frappe.session.user, frappe.flags.huf_test_flag), ("Administrator", None))
		session.user = "Administrator"
		del flags["huf_test_flag"]

	def test_a_copied_context_can_have_a_separate_local(self):
		def detach():
			values = dict(frappe.local)
			frappe.release_local(frappe.local)
			for name, value in values.items():
				setattr(frappe.local, name, value)
			frappe.local.huf_test = True
			return frappe.local.db

		self.assertIs(copy_context().run(detach), frappe.local.db)
		self.assertFalse(hasattr(frappe.local, "huf_test"))

	def test_get_site_path_resolves_from_the_working_directory(self):
		folder = Path(frappe.get_site_path("private"))
		self.assertTrue(folder.is_dir())
		self.assertEqual(Path(frappe.get_site_path("private", "x.json")), folder / "x.json")
		self.assertEqual(folder.parent.name, frappe.local.site)

	def test_a_thread_opens_the_site_by_itself_and_closes_it(self):
		site, sites_path = frappe.local.site, frappe.local.sites_path

		def read_guest():
			frappe.init(site, sites_path=sites_path)
			frappe.connect()
			try:
				return frappe.session.user, frappe.db.get_value("User", "Guest", "name"), frappe.local.db
			finally:
				frappe.destroy()

		with ThreadPoolExecutor(1) as pool:
			results = [pool.submit(read_guest).result() for _ in range(2)]
		self.assertEqual([each[:2] for each in results], [("Administrator", "Guest")] * 2)
		self.assertNotIn(frappe.local.db, [each[2] for each in results])
		self.assertEqual(frappe.db.get_value("User", "Guest", "name"), "Guest")


class TestAddress(SiteTestCase):
	def test_get_url_uses_the_configured_host_name(self):
		before = frappe.local.conf.host_name
		self.addCleanup(frappe.local.conf.__setitem__, "host_name", before)
		frappe.local.conf["host_name"] = "https://erp.example.com"
		# A bench in developer mode adds its port.
		self.assertRegex(get_url("/huf/drafts"), r"^https://erp\.example\.com(:\d+)?/huf/drafts$")

	def test_the_encryption_key_is_stable_and_has_at_least_32_characters(self):
		self.assertEqual(get_encryption_key(), get_encryption_key())
		self.assertEqual(get_encryption_key(), frappe.conf.encryption_key)
		self.assertGreaterEqual(len(get_encryption_key()), 32)

	def test_nowdate_returns_an_iso_date_string(self):
		self.assertEqual(str(get_datetime(nowdate()).date()), nowdate())

	def test_the_time_zone_has_a_name_whatever_the_environment_says(self):
		for zone in ("", ":", ":/etc/localtime", "/nowhere", "CET-1CEST", ":Europe/Berlin"):
			with self.subTest(zone), patch.dict("os.environ", {"TZ": zone}):
				self.assertTrue(ZoneInfo(get_system_timezone()).key)
