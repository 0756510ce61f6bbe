"""API responses have correct times when the site's time zone differs from the machine's."""

from datetime import datetime, timedelta, timezone
from unittest.mock import patch

import frappe

from huf.ai.chat.run_states import read_state
from huf.ai.core.types import AgentRequest
from huf.ai.mcp.server.tasks import describe_task
from huf.ai.runs.queue import enqueue_run
from huf.api.response_records import describe_run
from huf.api.wire.a2a import encode_task
from huf.tests.base import SiteTestCase
from huf.tests.factories import make_agent


class TestTimeZone(SiteTestCase):
	def test_times_in_api_responses_are_correct_in_every_site_time_zone(self):
		for zone in ("Asia/Tokyo", "America/New_York"):
			with self.subTest(zone), patch.dict(frappe.local.conf, {"time_zone": zone}):
				run = enqueue_run(AgentRequest(agent=make_agent(), prompt="Hi", user="Administrator")).name
				state = read_state(run)
				task = describe_task(state)
				reported = [datetime.fromisoformat(task[key]) for key in ("createdAt", "lastUpdatedAt")]
				reported.append(encode_task(state).status.timestamp.ToDatetime(timezone.utc))
				reported.append(datetime.fromtimestamp(describe_run(run)["created_at"], timezone.utc))
				for time in reported:
					self.assertLess(abs(time - datetime.now(timezone.utc)), timedelta(minutes=1))
				stored = state.row.creation.replace(tzinfo=timezone.utc)
				self.assertGreater(abs(stored - datetime.now(timezone.utc)), timedelta(hours=3))
