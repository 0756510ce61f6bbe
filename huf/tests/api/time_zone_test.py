"""Times are correct in the API and in agents without a model if the site's time zone is not the machine's."""

from datetime import datetime, timedelta, timezone
from unittest.mock import patch

import frappe
from frappe.utils import now_datetime

from huf.ai.chat.run_states import read_state
from huf.ai.core.types import AgentRequest
from huf.ai.mcp.server.tasks import describe_task
from huf.ai.runs.entry import run_agent_sync
from huf.ai.runs.queue import enqueue_run
from huf.api.response_records import describe_run
from huf.api.wire.a2a import encode_task
from huf.tests.base import SiteTestCase
from huf.tests.factories import make_agent, make_tool, unique


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

	def test_without_a_model_tomorrow_is_that_of_the_site(self):
		tool = make_tool("Create Document", reference_doctype="ToDo")
		agent = make_agent(tools=(tool,))
		# At any time, one of these has another date than the machine.
		for zone in ("Pacific/Kiritimati", "Pacific/Pago_Pago"):
			with self.subTest(zone), patch.dict(frappe.local.conf, {"time_zone": zone}):
				tomorrow, task = now_datetime().date() + timedelta(days=1), unique("call Anna")
				run_agent_sync(agent, f"Create a todo to {task} tomorrow")
				self.assertEqual(frappe.db.get_value("ToDo", {"description": task}, "date"), tomorrow)
