"""Stored times in the site's time zone are converted to UTC and back."""

from datetime import datetime, timedelta, timezone
from unittest.mock import patch

from frappe.utils import now_datetime

from huf.ai.core.times import from_utc, to_utc
from huf.tests.base import SiteTestCase


class TestTimes(SiteTestCase):
	def test_now_datetime_converts_to_the_current_utc_time(self):
		difference = to_utc(now_datetime()) - datetime.now(timezone.utc)
		self.assertLess(abs(difference), timedelta(minutes=1))

	def test_conversion_uses_the_site_time_zone(self):
		for zone, recorded, utc in (
			("Asia/Tokyo", "2026-01-01 08:30:00", "2025-12-31T23:30:00+00:00"),
			("America/New_York", "2026-07-01 08:00:00.500000", "2026-07-01T12:00:00.500000+00:00"),
			("America/New_York", "2026-01-01 08:00:00", "2026-01-01T13:00:00+00:00"),
			("UTC", "2026-01-01 08:00:00", "2026-01-01T08:00:00+00:00"),
		):
			with self.subTest(zone), patch("huf.ai.core.times.get_system_timezone", return_value=zone):
				self.assertEqual(to_utc(recorded).isoformat(), utc)
				moment = datetime.fromisoformat(utc)
				self.assertEqual(from_utc(moment), datetime.fromisoformat(recorded))
				self.assertEqual(from_utc(moment.replace(tzinfo=None)), from_utc(moment))
