"""The process-wide cache is bounded and drops its oldest values first."""

import frappe
from frappe.utils import caching

from huf.embedded.tests.sites import SiteTestCase, isolated
from huf.tests.factories import make_role, make_user


class TestCache(SiteTestCase):
	def test_the_cache_is_bounded_and_drops_the_oldest_values(self):
		cache = caching.Cache()
		for number in range(200):
			cache.set_value(f"key-{number}", b"x" * 100_000)
		self.assertIsNone(cache.get_value("key-0"))
		self.assertEqual(cache.get_value("key-199"), b"x" * 100_000)
		self.assertLessEqual(cache._bytes, caching.MAX_BYTES)
		cache.set_value("too large", b"x" * (caching.MAX_BYTES + 1))
		self.assertIsNone(cache.get_value("too large"))
		self.assertEqual(cache._bytes, 0)

	def test_overwritten_value_is_counted_once(self):
		cache = caching.Cache()
		for number in range(1000):
			cache.set_value("counter", number)
		self.assertEqual(cache.get_value("counter"), 999)
		self.assertLess(cache._bytes, 1000)
		cache.delete_value("counter")
		self.assertEqual((cache.get_value("counter"), cache._bytes), (None, 0))

	def test_disabled_role_is_no_longer_among_the_cached_roles_of_its_users(self):
		role = make_role()
		user = make_user(role)
		frappe.db.commit()
		frappe.get_doc("Role", role).update({"disabled": 1}).save()
		# Another request reads the roles before the commit, and puts them into the cache.
		self.assertIn(role, isolated(read_roles, frappe.local.site, frappe.local.sites_path, user))
		frappe.db.commit()
		self.assertNotIn(role, isolated(read_roles, frappe.local.site, frappe.local.sites_path, user))


def read_roles(site: str, sites_path: str, user: str) -> list[str]:
	frappe.init(site, sites_path)
	frappe.connect()
	try:
		return frappe.get_roles(user)
	finally:
		frappe.destroy()
