"""/copilotkit over HTTP: approvals as AG-UI interrupts, answered, outdated and joined again."""

import json
from datetime import datetime
from unittest.mock import patch

import frappe

from huf.ai.chat import approvals, external
from huf.ai.core.session import acting_as
from huf.ai.core.times import to_utc
from huf.ai.queries import event_stream
from huf.ai.runs import queue, stopping
from huf.ai.runs.queue import work_on
from huf.tests.api.test_copilotkit import build_agui_request, read_events
from huf.tests.api.test_openai import SECRET, make_key
from huf.tests.doctypes import make_order
from huf.tests.drafting import DraftTestCase
from huf.tests.factories import make_tool, make_user, remove_stops
from huf.tests.http import post
from huf.tests.model_server import call, text, tool_call, tool_calls


class TestInterrupts(DraftTestCase):
	def setUp(self):
		super().setUp()
		self.headers = {"Authorization": f"token {make_key(self.user)}:{SECRET}"}
		self.server.script(self.change("new"))
		self.waiting = self.stream(("user", "Change it"))
		self.interrupt = self.waiting[-1]["outcome"]["interrupts"][0]

	def stream(self, *messages, **more) -> list[dict]:
		path = f"/copilotkit/stream?agent={self.agent}"
		return read_events(post(path, json=build_agui_request(*messages, **more), headers=self.headers))

	def answer(self, *turns, status="resolved", payload=None, name=None) -> list[dict]:
		"""Answer the interrupt and resume; a worker continues the run at once."""
		self.server.script(*turns)
		entry = {"interruptId": name or self.interrupt["id"], "status": status, "payload": payload}
		with patch.object(queue, "enqueue_work", work_on):
			return self.stream(resume=[entry])

	def kinds(self, events) -> list[str]:
		return [each["type"] for each in events]

	def test_waiting_run_ends_with_an_interrupt_that_contains_the_diff(self):
		self.assertEqual(self.waiting[-1]["type"], "RUN_FINISHED")
		started = next(each for each in self.waiting if each["type"] == "TOOL_CALL_START")
		self.assertEqual(self.interrupt["toolCallId"], started["toolCallId"])
		self.assertEqual(self.interrupt["metadata"]["tool"], self.update)
		self.assertIn("changes", self.interrupt["metadata"]["difference"])
		expires_at = frappe.db.get_value("Agent Draft", self.interrupt["id"].split(".")[0], "expires_at")
		self.assertEqual(datetime.fromisoformat(self.interrupt["expiresAt"]), to_utc(expires_at))

	def test_approval_executes_the_call_and_streams_only_new_events(self):
		events = self.answer(text("Done."), payload={"approved": True})
		kinds = self.kinds(events)
		self.assertEqual((kinds[0], kinds[-1]), ("RUN_STARTED", "RUN_FINISHED"))
		self.assertEqual((kinds.count("TOOL_CALL_START"), kinds.count("TOOL_CALL_RESULT")), (0, 1))
		self.assertEqual("".join(e["delta"] for e in events if e["type"] == "TEXT_MESSAGE_CONTENT"), "Done.")
		self.assertEqual(frappe.db.get_value(self.order.doctype, self.order.name, "note"), "new")

	def test_two_drafts_of_a_step_are_two_interrupts_resolved_together(self):
		other = make_order(note="old")
		changes = [
			call(self.update, {"name": name, "values": {"note": "new"}})
			for name in (self.order.name, other.name)
		]
		self.server.script(tool_calls(changes))
		events = self.stream(("user", "Change both"), thread="t2")
		interrupts = events[-1]["outcome"]["interrupts"]
		self.assertEqual(self.kinds(events).count("TOOL_CALL_START"), 2)
		self.assertEqual(len({each["toolCallId"] for each in interrupts}), 2)
		entries = [
			{"interruptId": each["id"], "status": "resolved", "payload": {"approved": True}}
			for each in interrupts
		]
		edited = {**entries[1], "payload": {"approved": True, "arguments": {"name": 5}}}
		values = {"name": self.order.name, "values": {"note": "newer"}}
		valid = {**entries[0], "payload": {"approved": True, "arguments": values}}
		duplicate = {**entries[0], "payload": {"approved": False}}
		for refused in ([entries[0], edited], [valid, edited], [*entries, duplicate]):
			path, sent = (
				f"/copilotkit/stream?agent={self.agent}",
				build_agui_request(resume=refused, thread="t2"),
			)
			self.assertEqual(post(path, json=sent, headers=self.headers).status_code, 409)
			statuses = frappe.get_all("Agent Draft", {"run": events[-1]["result"]["run"]}, pluck="status")
			self.assertEqual(statuses, ["Pending"] * 2)
		self.server.script(text("Both."))
		with patch.object(queue, "enqueue_work", work_on):
			events = self.stream(resume=entries, thread="t2")
		self.assertEqual(
			(self.kinds(events).count("TOOL_CALL_START"), events[-1]["result"]["response"]), (0, "Both.")
		)
		self.assertEqual(frappe.db.get_value(other.doctype, other.name, "note"), "new")

	def test_joined_thread_has_only_the_current_interrupt(self):
		self.answer(self.change("newer"), payload={"approved": True})
		events = self.stream()
		self.assertEqual(self.kinds(events).count("RUN_FINISHED"), 1)
		(interrupt,) = events[-1]["outcome"]["interrupts"]
		self.assertNotEqual(interrupt["id"], self.interrupt["id"])

	def test_run_held_by_a_stop_ends_the_stream_with_an_error(self):
		self.addCleanup(remove_stops)
		listing = make_tool("Get List", reference_doctype="ToDo")
		self.agent = self.make_agent(listing)
		frappe.set_user("Administrator")
		stopping.stop("Tool", listing)
		self.server.script(tool_call(listing, {"limit": 1}))
		events = self.stream(("user", "How many?"), thread="t3")
		self.assertEqual((events[-1]["type"], events[-1]["code"]), ("RUN_ERROR", "not_ended"))

	def test_run_behind_a_waiting_one_ends_the_stream_with_an_error(self):
		with patch.object(external, "QUEUED_S", 0), patch.object(event_stream, "KEEPALIVE_S", 0):
			events = self.stream(("user", "And now?"))
		self.assertEqual((events[-1]["type"], events[-1]["code"]), ("RUN_ERROR", "not_ended"))

	def test_an_answered_run_that_does_not_begin_ends_the_stream_and_its_thread_with_an_error(self):
		run = self.waiting[-1]["result"]["run"]
		self.addCleanup(approvals.cancel_run, run)
		answer = {"interruptId": self.interrupt["id"], "status": "resolved", "payload": {"approved": True}}
		with (
			patch.object(external, "QUEUED_S", 0),
			patch.object(event_stream, "KEEPALIVE_S", 0),
			patch.object(queue, "enqueue_work"),
		):
			for options in ({"resume": [answer]}, {}):
				events = self.stream(**options)
				self.assertEqual((events[-1]["type"], events[-1].get("code")), ("RUN_ERROR", "not_ended"))

	def test_rejection_is_sent_to_the_model(self):
		for refusal in ({"payload": {"approved": False, "reason": "Too dear"}}, {"status": "cancelled"}):
			with self.subTest(refusal):
				self.setUp()
				events = self.answer(text("I left it."), **refusal)
				self.assertEqual(events[-1]["result"]["response"], "I left it.")
				self.assertIn("rejected it", json.dumps(self.server.requests[-1]))
				self.assertEqual(frappe.db.get_value(self.order.doctype, self.order.name, "note"), "old")

	def test_unknown_interrupt_and_one_of_another_thread_are_refused(self):
		stale = self.interrupt["id"].partition(".")[0] + ".0000"
		for name, thread, status in (("nothing.0000", "t1", 403), (stale, "other", 409)):
			path = f"/copilotkit/stream?agent={self.agent}"
			entry = {"interruptId": name, "status": "resolved", "payload": {"approved": True}}
			answer = post(path, json=build_agui_request(resume=[entry], thread=thread), headers=self.headers)
			self.assertEqual(answer.status_code, status)
		self.assertEqual(frappe.db.get_value(self.order.doctype, self.order.name, "note"), "old")

	def test_an_outdated_interrupt_is_replaced_by_the_current_one(self):
		self.order.reload()
		self.order.note = "changed meanwhile"
		self.order.save(ignore_permissions=True)
		frappe.db.commit()
		events = self.answer(payload={"approved": True})
		said = next(each["delta"] for each in events if each["type"] == "TEXT_MESSAGE_CONTENT")
		self.assertIn("has changed", said)
		(interrupt,) = events[-1]["outcome"]["interrupts"]
		self.assertNotEqual(interrupt["id"], self.interrupt["id"])
		events = self.answer(text("Done."), payload={"approved": True}, name=interrupt["id"])
		self.assertEqual(events[-1]["result"]["response"], "Done.")

	def test_an_interrupt_that_was_answered_elsewhere_ends_with_its_thread(self):
		draft, _, digest = self.interrupt["id"].partition(".")
		self.server.script(text("Done."))
		with acting_as(self.user), patch.object(queue, "enqueue_work", work_on):
			approvals.approve_call(draft, digest)
		events = self.answer(payload={"approved": False})
		self.assertEqual(self.kinds(events)[:2], ["RUN_STARTED", "MESSAGES_SNAPSHOT"])
		self.assertIn("answered before", next(each["delta"] for each in events if "delta" in each))
		self.assertEqual(events[-1]["outcome"], {"type": "success"})

	def test_of_two_drafts_the_one_that_is_still_open_can_be_answered(self):
		other = make_order(note="old")
		calls = [
			call(self.update, {"name": each.name, "values": {"note": "new"}}) for each in (self.order, other)
		]
		self.server.script(tool_calls(calls))
		first, second = self.stream(("user", "Change both"), thread="t2")[-1]["outcome"]["interrupts"]
		with acting_as(self.user):
			approvals.reject_call(first["id"].partition(".")[0])
		(left,) = self.stream(thread="t2")[-1]["outcome"]["interrupts"]
		self.assertEqual(left["id"], second["id"])
		self.server.script(text("One of them."))
		answered = [
			{"interruptId": each["id"], "status": "resolved", "payload": {"approved": True}}
			for each in (first, second)
		]
		with patch.object(queue, "enqueue_work", work_on):
			events = self.stream(resume=answered, thread="t2")
		self.assertEqual(events[-1]["result"]["response"], "One of them.")
		self.assertEqual(frappe.db.get_value(other.doctype, other.name, "note"), "new")

	def test_drafts_of_different_runs_are_not_answered_together(self):
		other = self.draft(self.start_change("newer"))
		entries = [
			{"interruptId": name, "status": "resolved", "payload": {"approved": True}}
			for name in (self.interrupt["id"], f"{other.name}.{other.digest}")
		]
		path = f"/copilotkit/stream?agent={self.agent}"
		answer = post(path, json=build_agui_request(resume=entries), headers=self.headers)
		self.assertEqual((answer.status_code, answer.json["code"]), (409, "CANNOT_RUN"))
		self.assertEqual(frappe.db.count("Agent Draft", {"agent": self.agent, "status": "Pending"}), 2)

	def test_approver_without_read_permission_receives_no_run_content(self):
		approver = make_user("Huf User")
		self.agent = self.make_agent(self.update, approver=approver)
		draft = self.draft(self.start_change(answer="The secret is 4711."))
		self.headers = {"Authorization": f"token {make_key(approver)}:{SECRET}"}
		events = self.answer(payload={"approved": True}, name=f"{draft.name}.{draft.digest}")
		self.assertEqual(self.kinds(events), ["RUN_STARTED", "RUN_FINISHED"])
		self.assertEqual(events[-1]["result"], {"answered": [draft.name]})
		self.assertEqual(self.note(), "new")

	def test_joined_waiting_thread_ends_with_its_interrupt(self):
		events = self.stream()
		self.assertEqual(self.kinds(events)[:2], ["RUN_STARTED", "MESSAGES_SNAPSHOT"])
		self.assertEqual([each["content"] for each in events[1]["messages"]], ["Change it"])
		self.assertEqual(events[-1]["outcome"]["interrupts"][0]["id"], self.interrupt["id"])

	def test_tool_action_that_requires_approval_waits(self):
		body = {
			"action": self.update,
			"agent": self.agent,
			"arguments": {"name": self.order.name, "values": {"note": "x"}},
		}
		answer = post("/copilotkit/action", json=body, headers=self.headers)
		self.assertEqual((answer.status_code, answer.json["status"]), (202, "Waiting"))
		with patch.object(queue, "enqueue_work", work_on):
			approvals.approve_call(answer.json["draft"]["draft"], answer.json["draft"]["digest"])
		self.assertEqual(frappe.db.get_value(self.order.doctype, self.order.name, "note"), "x")
