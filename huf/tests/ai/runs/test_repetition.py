"""A call that is repeated with the same idempotency key runs once, and returns the same."""

from contextvars import copy_context
from datetime import timedelta

import frappe
from frappe.utils import now_datetime

from huf.ai.chat.messages import send_agent_chat_message
from huf.ai.core.errors import UsageError
from huf.ai.core.events import EventKind
from huf.ai.core.session import acting_as
from huf.ai.core.types import AgentRequest
from huf.ai.runs.entry import run_agent_sync, stream_agent
from huf.ai.runs.queue import work_on
from huf.ai.runs.start import start_run
from huf.tests.base import SiteTestCase
from huf.tests.contract.connections import elsewhere, together
from huf.tests.factories import make_agent, make_model, make_tool, make_user
from huf.tests.model_server import ModelServer, text, tool_call


class TestRepetition(SiteTestCase):
	def setUp(self):
		super().setUp()
		self.key = frappe.generate_hash(length=32)

	def test_repeated_call_returns_the_first_result_and_writes_nothing_more(self):
		create = make_tool("Create Document", reference_doctype="Note")
		with ModelServer() as server:
			agent = make_agent(make_model(server), tools=(create,))
			server.script(tool_call(create, {"title": "Tea", "content": "x"}), text("Noted."))
			notes = frappe.db.count("Note")
			first, again = (run_agent_sync(agent, "Note tea", idempotency_key=self.key) for _call in range(2))
		self.assertEqual(frappe.db.count("Note"), notes + 1)
		self.assertEqual((first["success"], first["response"]), (True, "Noted."))
		self.assertEqual({field: again[field] for field in first}, first)

	def test_repeated_call_whose_run_failed_returns_its_error(self):
		with ModelServer() as server:
			agent = make_agent(make_model(server))
		first, again = (run_agent_sync(agent, "Hi", idempotency_key=self.key) for _call in range(2))
		self.assertEqual((first["run"], first["success"]), (again["run"], again["success"]))
		self.assertEqual((again["status"], again["error"]), ("Failed", first["error"]))

	def test_repeated_call_whose_run_is_queued_is_queued_once(self):
		agent, user = make_agent(), make_user("Huf User")
		with acting_as(user):
			start_run(AgentRequest(agent, "Hi", user, external_id="one"))
			calls = [
				run_agent_sync(agent, "And?", external_id="one", idempotency_key=self.key)
				for _call in range(2)
			]
		self.assertEqual([each["status"] for each in calls], ["Queued"] * 2)
		self.assertEqual(len({each["run"] for each in calls}), 1)

	def test_of_calls_with_one_key_that_arrive_together_one_runs_and_all_return_its_result(self):
		agent, user = make_agent(), make_user("Huf User")
		frappe.db.commit()
		runs = together([(run_as, agent, user, self.key)] * 5)
		self.assertEqual(
			[*{*runs}],
			frappe.get_all("Agent Run", {"request_key": self.key}, pluck="name", order_by="name"),
		)

	def test_a_caller_whose_worker_loses_the_run_gets_the_answer_of_the_next_worker(self):
		def lose_run(_body):
			context.copy().run(elsewhere, work_on_newest, agent)
			return text("Late.")

		with ModelServer() as server:
			agent = make_agent(make_model(server))
			frappe.db.commit()
			context = copy_context()
			server.script(lose_run, text("Anna."), lose_run, text("Eve."))
			result = run_agent_sync(agent, "Who?")
			*_earlier, last = filter(None, stream_agent(AgentRequest(agent, "Who?", "Administrator")))
		self.assertEqual((result["status"], result["response"]), ("Success", "Anna."))
		self.assertEqual((last.kind, last.data["response"]), (EventKind.RUN_FINISHED, "Eve."))

	def test_repeated_chat_message_is_sent_once(self):
		agent = make_agent()
		first, again = (
			send_agent_chat_message(agent, "How many users are there?", idempotency_key=self.key)
			for _call in range(2)
		)
		self.assertEqual((again["run"], again["response"]), (first["run"], first["response"]))

	def test_keys_of_other_users_do_not_count(self):
		agent = make_agent()
		runs = [run_as(agent, make_user("Huf User"), self.key) for _user in range(2)]
		self.assertEqual(len({*runs}), 2)

	def test_a_short_long_or_odd_key_is_refused(self):
		for key in ("1", "x" * 65, "a" * 16 + "'"):
			with (
				self.subTest(key=key),
				self.assertRaisesRegex(UsageError, "idempotency_key must be 16 to 64"),
			):
				run_agent_sync(make_agent(), "Hi", idempotency_key=key)


def work_on_newest(agent: str) -> None:
	run = frappe.get_all("Agent Run", {"agent": agent}, pluck="name", order_by="creation desc")[0]
	work_on(run, now_datetime() + timedelta(days=1))


def run_as(agent: str, user: str, key: str) -> str:
	with acting_as(user):
		return run_agent_sync(agent, "How many users are there?", idempotency_key=key)["run"]
