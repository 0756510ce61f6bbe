"""The process-wide cache is bounded and drops its oldest values first."""

from frappe.utils import caching

from huf.embedded.tests.sites import SiteTestCase


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
